package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// TestText checks that the entries are the same each time, and contain the words to search for.
func TestText(t *testing.T) {
	a, b := newText(), newText()
	const n = 20_000
	counts := map[string]int{}
	size := 0
	for range n {
		e := a.entry()
		if again := b.entry(); again != e {
			t.Fatalf("the same entry differs the second time:\n%+v\n%+v", e, again)
		}
		if !json.Valid([]byte(e.json())) {
			t.Fatalf("the entry is not JSON: %s", e.json())
		}
		size += len(e.json())
		for _, w := range []string{word(140_000), word(8), word(300), han(60), name(300), code(7)} {
			if strings.Contains(" "+e.text+" ", w) {
				counts[w]++
			}
		}
	}
	t.Logf("%v, %d bytes each", counts, size/n)
	if counts[word(140_000)] > n/1000 || counts[word(8)] < n/20 || counts[word(300)] < n/1000 || counts[han(60)] == 0 || counts[name(300)] == 0 || counts[code(7)] == 0 {
		t.Errorf("a word is too rare or too frequent in %d entries: %v", n, counts)
	}
}

// TestPair checks that the sides run in turn, each with its preparation, that the first run does not count, and
// that a command that fails is reported.
func TestPair(t *testing.T) {
	t.Chdir(t.TempDir())
	var out bytes.Buffer
	err := bench([]string{"pair", "-n", "2", "-a", "echo p$I >>log", "NAME", "sh", "-c", "echo a{} >>log", ";;", "true", ":::", "sh", "-c", "echo b{} >>log"}, &out)
	if err != nil || !strings.HasPrefix(out.String(), "NAME") || !strings.Contains(out.String(), "ratio") {
		t.Errorf("want a line with NAME and a ratio: %q, %v", out.String(), err)
	}
	if log, want := read(t, "log"), "p0 a0 b0 p1 a1 b1 p2 a2 b2 "; log != want {
		t.Errorf("the commands ran as %q, want %q", log, want)
	}
	if err := bench([]string{"pair", "NAME", "false", ":::", "true"}, &out); err == nil {
		t.Error("a command that fails is not reported")
	}
	if err := bench([]string{"pair", "-ok", "0,1", "NAME", "false", ":::", "true"}, &out); err != nil {
		t.Errorf("an exit code of -ok is reported: %v", err)
	}
	if err := bench([]string{"pair", "NAME", "true", ":::", "there-is-no-such-program"}, &out); err != nil || !strings.Contains(out.String(), "left out") {
		t.Errorf("a side without its program is not left out: %q, %v", out.String(), err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\n", " ")
}
