package view

import (
	"fmt"
	"strings"
	"testing"

	"tape/repo"
)

// A model sees pictures, and the beginning of a text with how to read on.
func TestContextShowsArtifacts(t *testing.T) {
	ctx := t.Context()
	s, _, err := repo.Init(ctx, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	tp, err := s.Tape(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	add := func(media, name, content string) repo.Artifact {
		a, err := tp.AddArtifact(ctx, repo.Artifact{MIMEType: media, Name: name}, strings.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	short, picture := add("text/plain", "short.txt", "all of it"), add("image/png", "p.png", "\x89PNG")
	long, binary := add("text/plain", "long.txt", strings.Repeat("ä", 5000)), add("application/zip", "", "PK\x00\x01")
	draft := func(kind, format string, args ...any) repo.Draft {
		return repo.Draft{Kind: kind, Payload: fmt.Appendf(nil, format, args...)}
	}
	_, err = tp.Append(ctx, nil,
		draft("message", `{"role":"user","content":"look","artifact":%s}`, short.Reference()),
		draft("message", `{"role":"user","content":[{"type":"text","text":"and"},{"type":"image","artifact":%s}]}`, picture.Reference()),
		draft("message", `{"role":"user","content":"this","artifact":%s}`, picture.Reference()),
		draft("tool_call", `{"calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]}`),
		draft("tool_result", `{"results":[{"artifact":%s},{"preview":"a zip","artifact":%s}]}`, long.Reference(), binary.Reference()))
	if err != nil {
		t.Fatal(err)
	}
	for format, want := range map[Format][]string{
		OpenAI:    {`data:image/png;base64,iVBORw==`},
		Anthropic: {`"media_type":"image/png","data":"iVBORw=="`},
	} {
		c, err := Build(ctx, tp, Options{Format: format})
		if err != nil {
			t.Fatal(err)
		}
		got := string(c.JSON())
		for _, part := range append(want, `look\n\n[artifact short.txt, text/plain, 9 bytes, id `+short.ID+`]\nall of it`, `this`,
			`its first 2000 bytes]\n`+strings.Repeat("ä", 1000)+`\n[read on by its id, from offset 2000]`, `a zip\n[artifact application/zip, 4 bytes, id `+binary.ID+`: read it by its id]`) {
			if !strings.Contains(got, part) {
				t.Errorf("%s: the context lacks %.120q:\n%.3000s", format, part, got)
			}
		}
		if strings.Count(got, "iVBORw==") != 2 {
			t.Errorf("%s: the picture is there %d times, want 2", format, strings.Count(got, "iVBORw=="))
		}
	}
}
