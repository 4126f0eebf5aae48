package merge_test

import (
	"errors"
	"strings"
	"testing"

	"tape/merge"
	"tape/repo"
)

func TestFile(t *testing.T) {
	for name, c := range map[string]struct{ base, ours, theirs, want string }{
		"both have added lines": {"1\n", "1\n2a\n", "1\n2b\n3b\n", "1\n2a\n2b\n3b\n"},
		"only theirs has added": {"1\n", "1\n", "1\n2\n", "1\n2\n"},
		"one line in common":    {"1\n", "1\n2\n3a\n", "1\n2\n3b\n", "1\n2\n3a\n3b\n"},
		"equal sides":           {"1\n", "1\n2\n", "1\n2\n", "1\n2\n"},
		"no base":               {"", "1a\n", "1b\n", "1a\n1b\n"},
		"a line begins another": {"", "12\n", "123\n", "12\n123\n"},
		"no newline at the end": {"1\n", "1\n2a", "1\n2b\n", "1\n2a\n2b\n"},
		"nor in the base":       {"1", "1\n2\n", "1\n3\n", "1\n2\n3\n"},
		"empty files":           {"", "", "", ""},
		"duplicates stay":       {"1\n", "1\nx\n", "1\ny\nx\n", "1\nx\ny\nx\n"},
	} {
		got, err := merge.File([]byte(c.base), []byte(c.ours), []byte(c.theirs))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: got %q, want %q (%v)", name, got, c.want, err)
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
		_, err := merge.File([]byte(base), []byte(c.ours), []byte(c.theirs))
		var rewritten *repo.RewrittenError
		if !errors.As(err, &rewritten) || !errors.Is(err, repo.ErrConflict) {
			t.Errorf("%s: error %v, want a RewrittenError that is an ErrConflict", name, err)
			continue
		}
		if rewritten.Name != c.side || string(rewritten.Base[0]) != c.was || string(rewritten.Base[1]) != c.is || (c.is == "") != (rewritten.Base[1] == nil) {
			t.Errorf("%s: %s with the lines %q, want %s with %q and %q", name, rewritten.Name, rewritten.Base, c.side, c.was, c.is)
		}
	}
}

// The result has all lines of ours, then the lines that theirs has added. Merging it again changes nothing.
func FuzzFile(f *testing.F) {
	f.Add("a\n", "b\n", "c\n")
	f.Add("a", "", "c")
	f.Add("", "b\nc\n", "b\nd\n")
	f.Fuzz(func(t *testing.T, base, ours, theirs string) {
		base = ended(base)
		ours, theirs = base+ours, base+theirs
		got, err := merge.File([]byte(base), []byte(ours), []byte(theirs))
		if err != nil {
			t.Fatal(err)
		}
		rest, ok := strings.CutPrefix(string(got), ended(ours))
		if !ok || !strings.HasSuffix(ended(theirs), rest) {
			t.Errorf("%q and %q with the base %q give %q", ours, theirs, base, got)
		}
		again, err := merge.File([]byte(base), []byte(ours), got)
		if err != nil || string(again) != string(got) {
			t.Errorf("merged again: got %q, want %q (%v)", again, got, err)
		}
	})
}

func ended(s string) string {
	if s != "" && !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	return s
}
