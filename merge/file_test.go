package merge

import (
	"errors"
	"strings"
	"testing"

	"tape/repo"
)

func TestFile(t *testing.T) {
	for name, c := range map[string]struct{ base, ours, theirs, want string }{
		"both have added":        {"1\n", "1\n2a\n", "1\n2b\n3b\n", "1\n2a\n2b\n3b\n"},
		"one has":                {"1\n", "1\n", "1\n2\n", "1\n2\n"},
		"the same on both":       {"1\n", "1\n2\n3a\n", "1\n2\n3b\n", "1\n2\n3a\n3b\n"},
		"equals":                 {"1\n", "1\n2\n", "1\n2\n", "1\n2\n"},
		"new on both sides":      {"", "1a\n", "1b\n", "1a\n1b\n"},
		"alike, but not equal":   {"", "12\n", "123\n", "12\n123\n"},
		"ended by an editor":     {"1\n", "1\n2a", "1\n2b\n", "1\n2a\n2b\n"},
		"the base as well":       {"1", "1\n2\n", "1\n3\n", "1\n2\n3\n"},
		"nothing":                {"", "", "", ""},
		"what comes twice stays": {"1\n", "1\nx\n", "1\ny\nx\n", "1\nx\ny\nx\n"},
	} {
		got, err := File([]byte(c.base), []byte(c.ours), []byte(c.theirs))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %q, not %q (%v)", name, got, c.want, err)
		}
	}
}

// A side that does not begin with the base is named, with the first line that differs.
func TestFileRewritten(t *testing.T) {
	const base = "1\n2\n3\n"
	for name, c := range map[string]struct {
		ours, theirs string
		side, was    string
		is           string // "" if it is gone
	}{
		"changed": {"1\nX\n3\n", base, "ours", "2", "X"},
		"cut off": {base, "1\n2\n", "theirs", "3", ""},
		"longer":  {base, "1\n2\n3 and more\n", "theirs", "3", "3 and more"},
		"emptied": {"", base, "ours", "1", ""},
	} {
		_, err := File([]byte(base), []byte(c.ours), []byte(c.theirs))
		var rewritten *repo.RewrittenError
		if !errors.As(err, &rewritten) || !errors.Is(err, repo.ErrConflict) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if rewritten.Name != c.side || string(rewritten.Base[0]) != c.was || string(rewritten.Base[1]) != c.is || (c.is == "") != (rewritten.Base[1] == nil) {
			t.Errorf("%s: %s %q", name, rewritten.Name, rewritten.Base)
		}
	}
}

// What comes out has every line of ours first, then each that theirs has added.
func FuzzFile(f *testing.F) {
	f.Add("a\n", "b\n", "c\n")
	f.Add("a", "", "c")
	f.Add("", "b\nc\n", "b\nd\n")
	f.Fuzz(func(t *testing.T, base, ours, theirs string) {
		base = ended(base)
		ours, theirs = base+ours, base+theirs
		got, err := File([]byte(base), []byte(ours), []byte(theirs))
		if err != nil {
			t.Fatal(err)
		}
		rest, ok := strings.CutPrefix(string(got), ended(ours))
		if !ok || !strings.HasSuffix(ended(theirs), rest) {
			t.Errorf("%q and %q, of %q, give %q", ours, theirs, base, got)
		}
		again, err := File([]byte(base), []byte(ours), got)
		if err != nil || string(again) != string(got) {
			t.Errorf("merged again: %q, not %q (%v)", again, got, err)
		}
	})
}

func ended(s string) string {
	if s != "" && !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	return s
}
