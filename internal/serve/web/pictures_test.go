//go:build extra

package web_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"tape/internal/serve/web"
	"tape/repo"
)

// TestPictures takes the pictures of docs/web.md, from the session of the demo. `make pictures` runs it.
func TestPictures(t *testing.T) {
	to, program := os.Getenv("TAPE_PICTURES"), os.Getenv("TAPE_PICTURES_TAPE")
	if to == "" {
		t.Skip("make pictures runs this")
	}
	home := t.TempDir()
	t.Setenv(repo.EnvHome, filepath.Join(home, "home"))
	t.Setenv("TAPE_AUTHOR", "Mei Tanaka <mei@example.com>")
	store, _, err := repo.Init(t.Context(), filepath.Join(home, "sessions"), nil)
	must(t, err)
	last := demoSessions(t, filepath.Join(home, "transcripts"))
	out, err := exec.CommandContext(t.Context(), program, "import", "claude-code", "--workspace", store.Dir(), filepath.Join(home, "transcripts")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s := newSiteOf(t, web.Options{Store: store, Now: func() time.Time { return last.Add(time.Minute) }})
	ctx := s.browser()
	s.run(ctx, chromedp.EmulateViewport(1240, 760), emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "light"}}))
	for _, p := range []struct{ name, path, script string }{
		{"web-sessions", "/", ``},
		{"web-session", "/t/" + demoSession, ``},
		{"web-conversation", "/t/" + demoSession, `{ const d = document.querySelector("details.call.edit"); d.open = true; d.closest("article").scrollIntoView({ block: "center" }) }`},
		{"web-stats", "/stats", ``},
	} {
		s.run(ctx, chromedp.Navigate(s.url+p.path))
		s.until(ctx, `document.readyState === "complete" && !document.querySelector("#overview.waiting")`)
		if p.script != "" {
			s.run(ctx, chromedp.Evaluate(p.script, nil))
		}
		s.until(ctx, `document.fonts.status === "loaded" && [...document.querySelectorAll("details.call[open]")].every(d => d.querySelector("pre"))`)
		var shot []byte
		s.run(ctx, chromedp.CaptureScreenshot(&shot))
		must(t, os.WriteFile(filepath.Join(to, p.name+".png"), smaller(t, shot), 0o644))
	}
}

// smaller returns a picture with at most 255 of its most frequent colours, which takes a third of the bytes.
func smaller(t *testing.T, picture []byte) []byte {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(picture))
	must(t, err)
	count := map[color.RGBA]int{}
	at := img.Bounds()
	for y := at.Min.Y; y < at.Max.Y; y++ {
		for x := at.Min.X; x < at.Max.X; x++ {
			count[color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)]++
		}
	}
	most := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int { return count[b] - count[a] })
	var few color.Palette
	near := map[[3]uint8]bool{} // colours that look alike count as one
	for _, c := range most {
		if like := [3]uint8{c.R >> 4, c.G >> 4, c.B >> 4}; (!near[like] || len(few) < 16) && len(few) < 255 {
			near[like], few = true, append(few, c)
		}
	}
	out := image.NewPaletted(at, few)
	draw.Draw(out, at, img, at.Min, draw.Src)
	var b bytes.Buffer
	must(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, out))
	return b.Bytes()
}

// demoSession is the whole session of the demo.
const demoSession = "34991a7b-815a-4788-8a23-39e135f0b12d"

var (
	stamp  = regexp.MustCompile(`"timestamp":"([^"]+)"`)
	prompt = regexp.MustCompile(`"message":\{"role":"user","content":"`)
)

// demoSessions writes the demo's transcript into a folder, and one for each of its turns, with dates on the days
// before. It returns the date of the newest entry.
func demoSessions(t *testing.T, dir string) (last time.Time) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "cmd", "tape", "testdata", "demo", "session.jsonl"))
	must(t, err)
	must(t, os.Mkdir(dir, 0o700))
	write := func(name string, text string) {
		must(t, os.WriteFile(filepath.Join(dir, name+".jsonl"), []byte(text), 0o600))
	}
	write(demoSession, string(text))
	var turns []string
	for line := range strings.Lines(string(text)) {
		if at := stamp.FindStringSubmatch(line); at != nil {
			if when, err := time.Parse(time.RFC3339, at[1]); err == nil && when.After(last) {
				last = when
			}
		}
		if prompt.MatchString(line) && !strings.Contains(line, `"isSidechain":true`) && !strings.Contains(line, `"isMeta":true`) && !strings.Contains(line, `"content":"<`) && !strings.Contains(line, `"isCompactSummary":true`) {
			turns = append(turns, "")
		}
		if n := len(turns); n > 0 {
			turns[n-1] += line
		}
	}
	projects := []string{"teashop", "website", "teashop", "till"}
	for i, turn := range turns {
		name := fmt.Sprintf("%08x%s", i+1, demoSession[8:])
		back := -time.Duration(1+i+i*i/8) * 9 * time.Hour
		turn = stamp.ReplaceAllStringFunc(strings.ReplaceAll(turn, demoSession, name), func(s string) string {
			at, err := time.Parse(time.RFC3339, stamp.FindStringSubmatch(s)[1])
			must(t, err)
			return `"timestamp":"` + at.Add(back).Format(time.RFC3339Nano) + `"`
		})
		write(name, strings.ReplaceAll(turn, "/home/mei/src/teashop", "/home/mei/src/"+projects[i%len(projects)]))
	}
	return last
}
