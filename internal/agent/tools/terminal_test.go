package tools

import (
	"strings"
	"testing"

	"tape/hooks"
)

// What a terminal would show: the last state of what was overwritten, without colours.
func TestAsShown(t *testing.T) {
	for in, want := range map[string]struct {
		shown   string
		redrawn bool
	}{
		"plain\n":                                       {"plain\n", false},
		"windows\r\nlines\r\n":                          {"windows\r\nlines\r\n", false},
		"\r 1 %\r 50 %\r100 %\ndone\n":                  {"100 %\ndone\n", true},
		"10 %\r\x1b[K20 %\r\x1b[Kdone\n":                {"done\n", true},
		"\x1b[31mred\x1b[0m\n":                          {"red\n", false},
		"wait |\b/\b-\b\\\bok\n":                        {"wait ok\n", true},
		"a: 1\nb: 1\n\x1b[2A\x1b[2Ka: 2\n\x1b[2Kb: 2\n": {"a: 2\nb: 2\n", true},
		"\x1b]0;a title\aready\n":                       {"ready\n", false},
		"the end \x1b[":                                 {"the end ", false},
		"100 %\r\n":                                     {"100 %\r\n", false},
		"50 %\r100 %\r\nnext":                           {"100 %\nnext", true},
	} {
		if shown, redrawn := asShown(in); shown != want.shown || redrawn != want.redrawn {
			t.Errorf("%q is shown as %q (%v), want %q (%v)", in, shown, redrawn, want.shown, want.redrawn)
		}
	}
}

// The model sees the last state of a progress bar, and the artifact has everything; a file is shown as it is.
func TestProgressBar(t *testing.T) {
	e, _ := newArtifacts(t)
	text := "\r 1 %\r 50 %\r100 %\ndone\n"
	shown, artifact := e.Keep(t.Context(), hooks.ToolContext{Session: "s"}, "bash", text)
	if artifact == nil || artifact.Size != int64(len(text)) || !strings.HasPrefix(shown, "100 %\ndone\n[") || strings.Contains(shown, "\r") {
		t.Errorf("%q, the artifact %+v", shown, artifact)
	}
	for tool, text := range map[string]string{"fs.read": "a\rb\n", "bash": "colours \x1b[31mred\x1b[0m", "x.y": "windows\r\n"} {
		if shown, artifact := e.Keep(t.Context(), hooks.ToolContext{Session: "s"}, tool, text); artifact != nil || tool == "fs.read" && shown != text {
			t.Errorf("%s: %q, %v", tool, shown, artifact)
		}
	}
}
