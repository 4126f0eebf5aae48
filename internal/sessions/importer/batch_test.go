package importer

//tape:race: several imports at once

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tape/internal/sessions/importer/record"
	"tape/repo"
)

// sessionFiles writes n transcripts of two messages, dated an hour ago.
func sessionFiles(t *testing.T, n int) []string {
	t.Helper()
	dir := t.TempDir()
	var out []string
	for i := range n {
		path := filepath.Join(dir, fmt.Sprintf("s-%d.jsonl", i))
		writeOld(t, path, sessionOf(fmt.Sprintf("s-%d", i))...)
		out = append(out, path)
	}
	return out
}

func sessionOf(name string, more ...string) []string {
	ls := append([]string{userLn("u1", "", `"hi"`), answerLn("a1", "u1", "m1", `{"type":"text","text":"ho"}`)}, more...)
	for i, l := range ls {
		ls[i] = strings.Replace(l, `"sessionId":"s-1"`, fmt.Sprintf(`"sessionId":%q`, name), 1)
	}
	return ls
}

// writeOld writes a file and dates it an hour ago, so that it can get an import mark.
func writeOld(t *testing.T, path string, ls ...string) {
	t.Helper()
	old := time.Now().Add(-time.Hour - time.Duration(len(ls))*time.Second)
	if err := errors.Join(os.WriteFile(path, lines(ls...), 0o600), os.Chtimes(path, old, old)); err != nil {
		t.Fatal(err)
	}
}

// importBatch imports files in one batch. It returns the results, in order, and which files were
// opened.
func importBatch(t *testing.T, s *repo.Store, files ...string) (told []Result, opened []string) {
	t.Helper()
	return importBatchBy(t, s, "1.0", files...)
}

// importBatchBy is importBatch for a given version of the program.
func importBatchBy(t *testing.T, s *repo.Store, version string, files ...string) (told []Result, opened []string) {
	t.Helper()
	open := func(name string) (record.Source, io.Closer, error) {
		opened = append(opened, name)
		return OpenSource(name, nil)
	}
	b := NewBatch(s, version, open, func(res Result, err error) error {
		told = append(told, res)
		return err
	})
	defer b.Close()
	for _, name := range files {
		if err := b.File(t.Context(), name, Options{Format: Auto}); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return told, opened
}

func imported(told []Result) (n int) {
	for _, res := range told {
		n += res.Imported
	}
	return n
}

// TestBatch: related files of a batch find each other in any order.
func TestBatch(t *testing.T) {
	s := testStore(t)
	files := sessionFiles(t, 3)
	again := filepath.Join(filepath.Dir(files[0]), "again.jsonl")
	writeOld(t, again, sessionOf("s-0", userLn("u2", "a1", `"more"`))...)
	agents := filepath.Join(filepath.Dir(files[0]), "agents.jsonl")
	writeOld(t, agents, agentSession...)
	own := fileOf(t, "agent-x.jsonl", sideLn("x", userLn("in-p1", "", `"p1"`)), sideLn("x", userLn("in-p5", "in-p1", `"p5"`)))
	told, _ := importBatch(t, s, files[0], again, files[2], agents, own)
	var names []string
	for _, res := range told {
		names = append(names, fmt.Sprintf("%s %s %d+%d", filepath.Base(res.File), res.Tape, res.Imported, res.Known))
	}
	want := []string{"s-0.jsonl s-0 3+0", "again.jsonl s-0 1+3", "s-2.jsonl s-2 3+0", "agents.jsonl s-1 13+0", "agent-x.jsonl s-1 1+1"}
	if !slices.Equal(names, want) {
		t.Errorf("the results are %q, want %q", names, want)
	}
	for _, name := range []string{"s-0", "s-1", "s-2"} {
		identities(t, s, name)
	}
	tapes, err := s.Tapes(t.Context())
	if err != nil || len(tapes) != 4 {
		t.Errorf("%d tapes, error %v; want 4", len(tapes), err)
	}
	for _, tape := range tapes {
		if dir := tape.WorkTree(); dir != "" && tape.Name() != repo.DefaultTape {
			t.Errorf("%s has the working tree %s", tape.Name(), dir)
		}
	}
}

// TestBatchesAtOnce: several batches import the same files while somebody creates some of the tapes. Each entry is
// imported once.
func TestBatchesAtOnce(t *testing.T) {
	s := testStore(t)
	files := sessionFiles(t, 12)
	told := make([][]Result, 3)
	var group sync.WaitGroup
	for i := range told {
		group.Go(func() {
			other, err := repo.Open(t.Context(), s.Dir(), nil)
			if err != nil {
				t.Error(err)
				return
			}
			order := slices.Clone(files)
			if i == 1 {
				slices.Reverse(order)
			}
			told[i], _ = importBatch(t, other, order...)
		})
	}
	group.Go(func() {
		for i := range 3 {
			if _, err := s.CreateTape(t.Context(), fmt.Sprint("s-", i)); err != nil && !errors.Is(err, repo.ErrConflict) {
				t.Error(err)
			}
		}
	})
	group.Wait()
	if got, want := imported(slices.Concat(told...)), 3*len(files); got != want {
		t.Errorf("together they imported %d entries, want %d", got, want)
	}
	for i := range files {
		identities(t, s, fmt.Sprint("s-", i))
	}
}

// TestKnownFiles: a file is opened only if its tape may lack something of it.
func TestKnownFiles(t *testing.T) {
	s := testStore(t)
	files := sessionFiles(t, 3)
	first, opened := importBatch(t, s, files...)
	if imported(first) != 9 || len(opened) != 3 {
		t.Fatalf("%+v, opened %v; want 9 entries of 3 files", first, opened)
	}
	known := func(what string, want ...string) []Result {
		t.Helper()
		told, opened := importBatch(t, s, files...)
		if !slices.Equal(opened, want) {
			t.Errorf("%s: opened %v, want %v", what, opened, want)
		}
		return told
	}
	for i, res := range known("again") {
		if res.Tape != first[i].Tape || res.Format != ClaudeCode || res.Imported != 0 || res.Known != 3 {
			t.Errorf("imported again: %+v, want 3 known entries", res)
		}
	}
	tape, err := s.Tape(t.Context(), "s-1")
	if err == nil {
		_, err = tape.Append(t.Context(), nil, repo.Message("user", "by hand"))
	}
	if err == nil {
		_, _, err = tape.Checkpoint(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	known("the tape has gone on")
	if _, err := tape.Reset(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if told := known("the tape was reset", files[1]); imported(told) != 3 {
		t.Errorf("after a reset: %+v, want 3 imported entries", told)
	}
	writeOld(t, files[2], sessionOf("s-2", userLn("u2", "a1", `"more"`))...)
	if told := known("a file has grown", files[2]); imported(told) != 1 {
		t.Errorf("a file that has grown: %+v, want 1 imported entry", told)
	}
	known("nothing is new")
	// Another file with the same size and time.
	former, err := os.Stat(files[2])
	next := files[2] + ".next"
	writeOld(t, next, sessionOf("s-2", userLn("u2", "a1", `"mere"`))...)
	if err := errors.Join(err, os.Chtimes(next, former.ModTime(), former.ModTime()), os.Rename(next, files[2])); err != nil {
		t.Fatal(err)
	}
	known("another file has its place", files[2])
	if _, opened := importBatchBy(t, s, "1.1", files...); !slices.Equal(opened, files) {
		t.Errorf("another version of the program opened %v, want %v", opened, files)
	}
	importBatch(t, s, files...)
	if err := os.WriteFile(files[0], lines(sessionOf("s-0")...), 0o600); err != nil {
		t.Fatal(err)
	}
	known("a file is just being written", files[0])
	known("and it still is", files[0])
	if err := os.WriteFile(filepath.Join(s.Dir(), ".git", "tape", "imports"), []byte("tape imports 2 \"1.0\"\nnonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if told := known("the cache is damaged", files...); imported(told) != 0 {
		t.Errorf("with a damaged cache: %+v, want no imported entry", told)
	}
}
