//go:build extra

package web_test

import (
	"context"
	_ "embed"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"tape/internal/serve/web"
	"tape/repo"
)

// boxes is a function that measures the boxes of the page, and returns what is wrong with them.
//
//go:embed testdata/boxes.js
var boxes string

// widths are those of a phone, a small window, and two usual screens, in CSS pixels.
var widths = []int64{390, 800, 1280, 1440}

// measured opens a page and measures its boxes at a width: as it is, with everything open, and with its menus open.
func (s *site) measured(ctx context.Context, path string, width int64) (wrong []string) {
	s.Helper()
	s.run(ctx, chromedp.EmulateViewport(width, 900), chromedp.Navigate(s.url+path))
	s.until(ctx, `document.readyState === "complete" && !document.querySelector("#overview.waiting")`)
	s.run(ctx, chromedp.Evaluate("("+boxes+")()", &wrong))
	return wrong
}

// fits fails for what is wrong with the boxes of pages at each width. It keeps pictures, see picture.
func (s *site) fits(ctx context.Context, paths ...string) {
	s.Helper()
	for _, path := range paths {
		for _, width := range widths {
			if wrong := s.measured(ctx, path, width); len(wrong) > 0 {
				s.Errorf("%s, %d pixels wide:\n  %s", path, width, strings.Join(wrong, "\n  "))
			}
			s.whole(ctx, fmt.Sprintf("%s %d", path, width), width)
		}
	}
}

// whole keeps a picture of a page as it is when it is opened, up to 3,000 pixels high, in light and dark.
func (s *site) whole(ctx context.Context, name string, width int64) {
	dir := os.Getenv("TAPE_TEST_PICTURES")
	if dir == "" {
		return
	}
	name = strings.Trim(strings.NewReplacer("/", "_", "?", "_", "&", "_", "=", "-", " ", "-").Replace(name), "_")
	for _, scheme := range []string{"light", "dark"} {
		var png []byte
		s.run(ctx, emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}), chromedp.Reload())
		s.until(ctx, `document.readyState === "complete" && !document.querySelector("#overview.waiting")`)
		var high int64
		s.run(ctx, chromedp.Evaluate(`Math.min(3000, document.documentElement.scrollHeight)`, &high), chromedp.ActionFunc(func(ctx context.Context) (err error) {
			png, err = page.CaptureScreenshot().WithCaptureBeyondViewport(true).WithClip(&page.Viewport{Width: float64(width), Height: float64(max(high, 900)), Scale: 1}).Do(ctx)
			return err
		}))
		must(s.T, os.WriteFile(filepath.Join(dir, name[:min(len(name), 100)]+"-"+scheme+".png"), png, 0o644))
	}
}

// TestLayout measures the boxes of all kinds of pages. With TAPE_TEST_WORKSPACE=DIR it also measures those of that
// workspace, and of its largest sessions.
func TestLayout(t *testing.T) {
	s := newSite(t, true)
	tape := s.session()
	fork, err := tape.Fork(t.Context(), "try-wal")
	must(t, err)
	_, err = fork.Append(t.Context(), nil, repo.Message("assistant", "The fork says red."))
	must(t, err)
	s.work()
	s.wide()
	s = newSiteOf(t, web.Options{Store: s.store, All: true, Write: true, Project: s.shopProject()})
	ctx := s.browser()
	s.fits(ctx, "/", "/search?q=checkout", "/digest", "/stats", "/t/main", "/t/main/@5", "/t/main/-/stats", "/t/main/-/forks", "/t/main/-/outline", "/t/main/-/entry/6", "/t/main/-/links",
		"/t/work", "/t/work/@2", "/t/work/@3", "/t/work/@5", "/t/work/@7", "/t/work/end", "/t/work/-/stats", "/diff?tape=main&a=main&b=main%2Ftry-wal", "/diff?tape=main&a=main&b=work", "/t/wide", "/t/wide/@2", "/t/none",
		"/t/wide/-/export/html", "/t/work/-/export/html", "/files", "/?tag=release", "/review", "/review?range=pieces", "/review?range=pieces..pieces", "/review?range=pieces~1")
	dir := os.Getenv("TAPE_TEST_WORKSPACE")
	if dir == "" {
		return
	}
	store, err := repo.Open(t.Context(), dir, nil)
	must(t, err)
	s = newSiteOf(t, web.Options{Store: store})
	tapes, err := store.Tapes(t.Context())
	must(t, err)
	paths := []string{"/", "/search?q=error", "/digest?since=2020-01-01", "/stats?since=2020-01-01"}
	for _, tape := range tapes {
		info, err := tape.Info(t.Context())
		must(t, err)
		if at := "/t/" + url.PathEscape(tape.Name()); info.Entries > 60 {
			paths = append(paths, at, fmt.Sprintf("%s/@%d", at, info.Entries/2), at+"/end", at+"/-/stats")
		}
	}
	s.fits(s.browser(), paths...)
}

// wide writes the session "wide", whose texts could break a layout, and "none", which is empty.
func (s *site) wide() {
	s.Helper()
	_, err := s.store.CreateTape(s.Context(), "none")
	must(s.T, err)
	t, err := s.store.CreateTape(s.Context(), "wide")
	must(s.T, err)
	cells := strings.Repeat("| a cell with words ", 14) + "|\n"
	all := []repo.Draft{repo.Message("user", "See "+strings.Repeat("x", 400)+" and https://example.org/"+strings.Repeat("path/", 60))}
	for _, text := range []string{
		cells + strings.Repeat("|---", 14) + "|\n" + cells,
		"```go\nfunc " + strings.Repeat("aVeryLongName", 40) + "() {}\n```\n\n`" + strings.Repeat("inline_code_", 30) + "`",
		"- one\n  - two\n    - three\n      - four\n        - five with many words, so that the line is longer than a phone is wide\n          1. six\n             - seven",
		"אני אתקן את הבדיקה `checkout.go` שנכשלת\n\n- פריט ראשון\n- פריט שני\n\n| עמודה | value |\n|---|---|\n| ערך | 1 |",
		"$$\\int_0^1 x^2\\,dx = \\frac{1}{3}$$ and \\(a_1*b_1*c_1\\) and " + strings.Repeat("\\alpha+", 60),
		strings.Repeat("请修复上传重试的问题", 30), strings.Repeat("🧑\u200d🚀🔥", 60), "> " + strings.Repeat("> ", 12) + "deep",
		"Z\u0334\u0335\u0336\u0337\u0338a\u0334\u0335l\u0334\u0335g\u0334o", "a\tb\tc\n\n\n\nend", "line\rover\rwritten", "# One\n## Two\n### Three\n#### Four\n##### Five\n###### Six\ntext",
	} {
		all = append(all, repo.Message("assistant", text))
	}
	_, err = t.Append(s.Context(), nil, all...)
	must(s.T, err)
}
