package importer

import (
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tape/internal/text/jsonl"
	"tape/repo"
)

var (
	resultText = regexp.MustCompile(`"content":"(\[main [^"]*)"`)
	promptText = regexp.MustCompile(`"content":"(?:ask|do) [^"]*"`)
)

// enlarged gives results and messages of a generated session long texts and pictures.
func enlarged(ls []string) []string {
	var out []string
	for i, l := range ls {
		picture := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(fmt.Sprintf("picture %d of %d ", i%7, i), 200)))
		block := `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + picture + `"}}`
		l = resultText.ReplaceAllStringFunc(l, func(content string) string {
			text := resultText.FindStringSubmatch(content)[1] + strings.Repeat(fmt.Sprintf(`\nline %d of a log, %d`, i, i%9), 1500)
			switch i % 4 {
			case 0:
				return `"content":"` + text + `"`
			case 1:
				return `"content":[{"type":"text","text":"` + text + `"},` + block + `]`
			case 2:
				return `"content":"` + text + `\ud83d"` // half a surrogate pair, which an artifact cannot keep
			}
			return content
		})
		if i%3 == 0 {
			l = promptText.ReplaceAllString(l, `"content":[`+block+`,{"type":"text","text":"see"}]`)
		}
		out = append(out, l)
	}
	return out
}

// longStrings returns the long strings of a tape, including those in artifacts.
func longStrings(t *testing.T, s *repo.Store, name string) (out []string, artifacts int) {
	t.Helper()
	tape, err := s.Tape(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	content := func(ref map[string]any) string {
		artifacts++
		r, err := tape.Artifact(t.Context(), ref["id"].(string))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if ref["mime_type"] == "image/png" {
			return base64.StdEncoding.EncodeToString(b)
		}
		return string(b)
	}
	var walk func(v any, add func(string))
	walk = func(v any, add func(string)) {
		switch v := v.(type) {
		case map[string]any:
			if ref, ok := v["artifact"].(map[string]any); ok {
				add(content(ref))
				return
			}
			for _, key := range slices.Sorted(maps.Keys(v)) {
				walk(v[key], add)
			}
		case []any:
			for _, e := range v {
				walk(e, add)
			}
		case string:
			if len(v) > 1000 {
				add(v)
			}
		}
	}
	for _, line := range tapeLines(t, s, name) {
		e, err := jsonl.Parse([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		walk(decode(t, e.Payload), func(text string) { out = append(out, text) })
	}
	slices.Sort(out)
	return out, artifacts
}

// TestAttach: a tape with artifacts says the same as one without, whether it was imported at once or while its file
// grew.
func TestAttach(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			ls := enlarged(generate(seed, 40))
			s := testStore(t)
			all := fileOf(t, "all.jsonl", ls...)
			mustImport(t, s, all, Options{Tape: "inline", Inline: true})
			want, n := longStrings(t, s, "inline")
			if n > 0 {
				t.Errorf("%d artifacts in spite of Inline", n)
			}
			mustImport(t, s, all, Options{Tape: "whole"})
			for _, at := range []int{len(ls) / 3, len(ls) * 2 / 3} {
				mustImport(t, s, fileOf(t, "part.jsonl", ls[:at]...), Options{Tape: "grown"})
				mustImport(t, s, fileOf(t, "part.jsonl", ls[:at]...), Options{Tape: "written"})
				tape, err := s.Tape(t.Context(), "written")
				if err != nil {
					t.Fatal(err)
				}
				if _, err := tape.Append(t.Context(), nil, repo.Message("user", "by hand")); err != nil {
					t.Fatal(err)
				}
			}
			for _, name := range []string{"whole", "grown", "written"} {
				res := mustImport(t, s, all, Options{Tape: name})
				if again := mustImport(t, s, all, Options{Tape: name}); again.Imported != 0 {
					t.Errorf("%s: imported again, it adds %d entries", name, again.Imported)
				}
				got, n := longStrings(t, s, name)
				if n == 0 {
					t.Errorf("%s: no artifacts", name)
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s has other long texts than the tape with Inline; the import: %+v", name, res)
				}
			}
		})
	}
}

// TestPictures: pictures of every provider are recognised, and the fields beside them stay.
func TestPictures(t *testing.T) {
	png := base64.StdEncoding.EncodeToString([]byte("PNG"))
	for name, part := range map[string]string{
		"Anthropic":   `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + png + `"},"detail":"low"}`,
		"MCP":         `{"type":"image","mimeType":"image/png","data":"` + png + `","detail":"low"}`,
		"Gemini":      `{"inlineData":{"mimeType":"image/png","data":"` + png + `"},"detail":"low"}`,
		"Chat":        `{"type":"image_url","image_url":{"url":"data:image/png;base64,` + png + `"},"detail":"low"}`,
		"Responses":   `{"type":"input_image","image_url":"data:image/png;base64,` + png + `","detail":"low"}`,
		"not base64":  `{"type":"image","mimeType":"image/png","data":"??"}`,
		"not strict":  `{"type":"image","mimeType":"image/png","data":"UE5H\n"}`,
		"no picture":  `{"type":"file","mimeType":"text/plain","data":"` + png + `"}`,
		"elsewhere":   `{"type":"image_url","image_url":{"url":"https://example.com/image/png"}}`,
		"an artifact": `{"type":"image","mimeType":"image/png","artifact":{"id":"x"}}`,
	} {
		f, data := fileIn([]byte(part))
		if want := strings.Contains(part, "low"); want != (string(data) == "PNG" && f.Media == "image/png") {
			t.Errorf("%s: media type %q, data %q; want a picture: %t", name, f.Media, data, want)
		}
	}
	s := testStore(t)
	mustImport(t, s, fileOf(t, "chat.json", `{"messages":[{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,`+png+`","detail":"low"}}]}]}`), Options{Tape: "chat", Format: OpenAI})
	lines := strings.Join(tapeLines(t, s, "chat"), "\n")
	if !strings.Contains(lines, `{"type":"image","artifact":{"id":"`) || strings.Contains(lines, png) {
		t.Errorf("want an artifact instead of the picture, got\n%s", lines)
	}
}

// TestFiles: documents and sounds of every provider become artifacts (router-for-me/CLIProxyAPI#4765).
func TestFiles(t *testing.T) {
	pdf := base64.StdEncoding.EncodeToString([]byte("%PDF"))
	for name, part := range map[string]string{
		"Anthropic":    `{"type":"document","title":"a.pdf","source":{"type":"base64","media_type":"application/pdf","data":"` + pdf + `"}}`,
		"Gemini":       `{"inlineData":{"mimeType":"application/pdf","displayName":"a.pdf","data":"` + pdf + `"}}`,
		"Chat":         `{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,` + pdf + `"}}`,
		"Responses":    `{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,` + pdf + `"}`,
		"opencode":     `{"type":"file","mime":"application/pdf","filename":"a.pdf","url":"data:application/pdf;base64,` + pdf + `"}`,
		"MCP resource": `{"type":"resource","resource":{"uri":"file:///w/a.pdf","mimeType":"application/pdf","blob":"` + pdf + `"}}`,
		"Claude Code":  `{"filePath":"/w/a.pdf","base64":"` + pdf + `","originalSize":4}`,
	} {
		f, data := fileIn([]byte(part))
		if string(data) != "%PDF" || f.Media != "application/pdf" || f.Name != "a.pdf" {
			t.Errorf("%s: %+v, data %q", name, f, data)
		}
		s := testStore(t)
		mustImport(t, s, fileOf(t, "chat.json", `{"messages":[{"role":"user","content":[{"type":"text","text":"read"},`+part+`]}]}`), Options{Tape: "chat", Format: OpenAI})
		if lines := strings.Join(tapeLines(t, s, "chat"), "\n"); !strings.Contains(lines, `"name":"a.pdf","size_bytes":4`) || strings.Contains(lines, pdf) {
			t.Errorf("%s: want an artifact, got\n%s", name, lines)
		}
	}
}

// TestLargeEntries: what is larger than an entry may be becomes an entry with artifacts (kenn-io/agentsview#12).
func TestLargeEntries(t *testing.T) {
	large := strings.Repeat("word ", 4<<20) // 20 MiB
	for name, message := range map[string]string{
		"a message":      `{"role":"user","content":"` + large + `"}`,
		"a part":         `{"role":"user","content":[{"type":"text","text":"` + large + `"}]}`,
		"a result":       `{"role":"tool","tool_call_id":"c1","content":"` + large + `"}`,
		"a call":         `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"write","arguments":"{\"path\":\"a\",\"content\":\"` + large + `\"}"}}]}`,
		"something else": `{"role":"user","content":"x","odd":{"deep":["` + large + `"]}}`,
	} {
		s := testStore(t)
		mustImport(t, s, fileOf(t, "chat.json", `{"messages":[{"role":"user","content":"hi"},`+message+`]}`), Options{Tape: "chat", Format: OpenAI})
		lines := strings.Join(tapeLines(t, s, "chat"), "\n")
		if strings.Contains(lines, "import.damaged") || !strings.Contains(lines, `"artifact":{`) || len(lines) > 100<<10 {
			t.Errorf("%s: %d bytes: %.2000s", name, len(lines), lines)
		}
	}
}
