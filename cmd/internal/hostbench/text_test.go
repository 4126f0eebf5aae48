package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestText: the entries are the same each time, of the size that is promised, and have the words
// that are searched for.
func TestText(t *testing.T) {
	a, b := newWriter(), newWriter()
	const n = 20_000
	rareOnes, commonOnes := 0, 0
	for range n {
		e := a.entry()
		if again := b.entry(); again != e {
			t.Fatalf("%+v\nis another time\n%+v", e, again)
		}
		if len(e.text) < 200 || len(e.text) > 600 || !json.Valid([]byte(e.json())) {
			t.Fatalf("%d bytes: %s", len(e.text), e.json())
		}
		rareOnes += strings.Count(" "+e.text+" ", " "+rare()[0]+" ")
		commonOnes += strings.Count(" "+e.text+" ", " "+common()[0]+" ")
	}
	if rareOnes > 20 || commonOnes < n/100 {
		t.Errorf("the rare word stands %d times in %d entries, the common one %d times", rareOnes, n, commonOnes)
	}
}

// TestTimes: pgbench writes a line for each transaction, with its microseconds third.
func TestTimes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "times.1")
	if err := os.WriteFile(file, []byte("0 1 1500 0 1763870000 1\n0 2 2500 0 1763870000 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var got timed
	if err := got.read(file); err != nil || len(got.took) != 2 || got.at(0) != "1.50" || got.at(1) != "2.50" {
		t.Errorf("%+v, %v", got, err)
	}
}
