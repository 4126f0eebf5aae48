package snapshot_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"tape/internal/store/layout"
	"tape/internal/store/query"
	"tape/internal/store/snapshot"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
	"time"
)

// scannedTape returns a tape with several phases and kinds, on disk or only in git.
func scannedTape(t *testing.T, disk bool) *repo.Tape {
	t.Helper()
	s := storetest.New(t, nil)
	tp, err := s.CreateTape(t.Context(), "other")
	storetest.Must(t, err)
	at := testkit.Clock()
	kinds := []string{repo.KindMessage, repo.KindToolCall, repo.KindEvent, repo.KindError, "custom"}
	for phase := range 6 {
		var drafts []repo.Draft
		for i := range 3 + phase*5 {
			at = at.Add(time.Minute)
			pad := ""
			if i%7 == 3 {
				pad = string(bytes.Repeat([]byte("p"), 100_000))
			}
			drafts = append(drafts, repo.Draft{Kind: kinds[i%5], Payload: fmt.Appendf(nil, `%s,"n":%d,"pad":%q}`, anyPayload[:len(anyPayload)-1], i, pad), Date: repo.FormatDate(at)})
		}
		storetest.Append(t, tp, drafts...)
		if _, err := tp.Handoff(t.Context(), repo.Anchor{Name: fmt.Sprint("a", phase%4), Date: repo.FormatDate(at)}); err != nil {
			t.Fatal(err)
		}
	}
	storetest.Append(t, tp, repo.Message("user", "open"))
	storetest.Checkpoint(t, tp)
	if !disk {
		storetest.Git(t, s.Dir(), "worktree", "remove", "--force", tp.WorkTree())
	}
	return tp
}

// The files and ids that a query selects agree with the entries that it returns.
func TestFilesAndRange(t *testing.T) {
	t.Parallel()
	rng := testkit.Random(t)
	fork := storetest.Fork(t, scannedTape(t, true), "f", "") // some files on disk, others only in git
	storetest.Append(t, fork, repo.Message("user", "of the fork"))
	for _, tp := range []*repo.Tape{scannedTape(t, true), scannedTape(t, false), fork} {
		all := storetest.Entries(t, tp, repo.Query{})
		for range testkit.Size(12, 2000) {
			q := randomQuery(rng, all)
			q.Limit, q.Tail, q.Reverse = nil, nil, false
			want, wantErr := storetest.Collect(t.Context(), tp, q)
			var got []repo.Entry
			files, err := query.FilesOf(t.Context(), storetest.InnerTape(tp), q)
			if (err != nil) != (wantErr != nil) || err != nil && !errors.Is(err, repo.ErrNotFound) && !errors.Is(err, repo.ErrInvalid) {
				t.Fatalf("%s: the error %v, want %v", show(q), err, wantErr)
			}
			if err != nil {
				if _, _, err := query.Range(t.Context(), storetest.InnerTape(tp), q); err == nil {
					t.Errorf("%s: there is a range, want the error %v", show(q), wantErr)
				}
				continue
			}
			var buf []byte
			for i := range files.Len() {
				f, err := files.Read(i, buf)
				storetest.Must(t, err)
				for at := 0; at < len(f.Data); at += bytes.IndexByte(f.Data[at:], '\n') + 1 {
					e, err := f.Entry(at)
					storetest.Must(t, err)
					e.At.Line = bytes.Count(f.Data[:at], []byte("\n"))
					if q.Keep(e) {
						got = append(got, e)
					}
				}
				buf = f.Data[:0]
			}
			slices.SortFunc(got, func(a, b repo.Entry) int { return int(a.ID - b.ID) })
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: the files have %v, want %v", show(q), storetest.IDs(got), storetest.IDs(want))
			}
			first, last, err := query.Range(t.Context(), storetest.InnerTape(tp), q)
			storetest.Must(t, err)
			within := repo.Query{After: q.After, From: q.From, To: q.To, Inclusive: q.Inclusive, Phase: q.Phase}
			span := storetest.Entries(t, tp, within)
			for _, e := range span {
				if e.ID < first || e.ID > last {
					t.Errorf("%s: the range is %d to %d, but @%d is selected", show(q), first, last, e.ID)
				}
			}
			if n := min(last, int64(len(all))) - first + 1; n != int64(len(span)) {
				t.Errorf("%s: the range is %d to %d, but %d entries are selected", show(q), first, last, len(span))
			}
		}
		if first, last, err := query.Range(t.Context(), storetest.InnerTape(tp), repo.Query{}); first != 1 || last != math.MaxInt64 || err != nil {
			t.Errorf("the range of all entries is %d to %d, %v; want 1 to %d", first, last, err, int64(math.MaxInt64))
		}
	}
}

// A last line without a newline does not count yet. A complete line that is not an entry is an error that names the line.
func TestFilesAndTornLine(t *testing.T) {
	t.Parallel()
	s, _, err := repo.Init(t.Context(), filepath.Join(t.TempDir(), "ws"), nil)
	storetest.Must(t, err)
	tp := storetest.Tape(t, s, "")
	storetest.Append(t, tp, repo.Message("user", "whole"))
	path := filepath.Join(s.Dir(), layout.AnchorsDir, "001_session-start", "messages.jsonl")
	good := storetest.ReadFile(t, path)
	read := func() []byte {
		t.Helper()
		files, err := query.FilesOf(t.Context(), storetest.InnerTape(tp), repo.Query{Kinds: []string{repo.KindMessage}})
		storetest.Must(t, err)
		f, err := files.Read(files.Len()-1, nil)
		storetest.Must(t, err)
		if len(f.Data) > len(good) {
			_, err := f.Entry(len(good))
			var damage *repo.CorruptError
			if !errors.As(err, &damage) || damage.Line != 2 {
				t.Errorf("a line that is no entry gives the error %v, want one for line 2", err)
			}
		}
		return f.Data
	}
	storetest.WriteFile(t, path, append(bytes.Clone(good), `{"id":3,"kind":"mess`...))
	if got := read(); !bytes.Equal(got, good) {
		t.Errorf("read %q, want %q", got, good)
	}
	storetest.WriteFile(t, path, append(bytes.Clone(good), "no entry\n"...))
	if got := read(); len(got) == len(good) {
		t.Error("a complete line that is no entry was left out")
	}
}

// A line of the list of sealed files that was cut off, by a full disk or a power cut, is not taken for a seal.
func TestTornSeal(t *testing.T) {
	tp := storetest.InnerTape(storetest.Tape(t, storetest.New(t, nil), "main"))
	snapshot.SealedFile(tp, "f", "a.jsonl", 7, 1)
	whole, err := os.ReadFile(snapshot.SealsPath(tp))
	storetest.Must(t, err)
	for n := range len(whole) - 1 {
		storetest.WriteFile(t, snapshot.SealsPath(tp), whole[:n])
		snapshot.SealedFile(tp, "f", "b.jsonl", 8, 2)
		if got := snapshot.Seals(tp); len(got) != 1 || got["f/b.jsonl"] != "8 00000002" {
			t.Errorf("after %q, the seals are %v, want that of b.jsonl", whole[:n], got)
		}
	}
}
