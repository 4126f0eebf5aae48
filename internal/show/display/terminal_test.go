package display

import (
	"testing"
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
		if shown, redrawn := AsShown(in, false); shown != want.shown || redrawn != want.redrawn {
			t.Errorf("%q is shown as %q (%v), want %q (%v)", in, shown, redrawn, want.shown, want.redrawn)
		}
	}
}
