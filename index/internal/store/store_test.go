package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tape/index/internal/store"
	"tape/internal/store/relevance"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
)

func TestMain(m *testing.M) { testkit.Main(m, nil, nil) }

// opened returns a database that is closed when the test ends.
func opened(t *testing.T, path string) *store.DB {
	t.Helper()
	d, err := store.Open(path)
	storetest.Must(t, err)
	t.Cleanup(func() { storetest.Must(t, d.Close()) })
	return d
}

func none(int64) {}

func targets(t *testing.T, s *repo.Store) []*store.Target {
	t.Helper()
	out, err := store.WithParents(t.Context(), s, storetest.TapesAndForks(t, s))
	storetest.Must(t, err)
	return out
}

// CatchUp adds once what was written since the last call. Before it does, Stale counts the tapes that are not
// up to date.
func TestCatchUp(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	storetest.Append(t, m, repo.Message("user", "one"), repo.Event("e", nil))
	d := opened(t, "")
	want := func(what string, stale, tapes int, entries int64) {
		t.Helper()
		all := targets(t, s)
		has, err := d.Has(all)
		storetest.Must(t, err)
		if n, err := d.Stale(t.Context(), all, has, true); err != nil || n != stale {
			t.Errorf("%s: %d tapes are stale, want %d, %v", what, n, stale, err)
		}
		_, have, err := d.Totals()
		storetest.Must(t, err)
		added, err := d.CatchUp(t.Context(), all, none)
		if err != nil || added != entries-have && entries >= have {
			t.Errorf("%s: %d entries were added to %d, want %d in all, %v", what, added, have, entries, err)
		}
		if n, got, err := d.Totals(); err != nil || n != tapes || got != entries {
			t.Errorf("%s: %d entries of %d tapes, want %d of %d, %v", what, got, n, entries, tapes, err)
		}
		storetest.Must(t, d.DropGone(t.Context(), s, all))
	}
	_, err := d.Fill(t.Context(), targets(t, s), none)
	storetest.Must(t, err)
	want("filled", 0, 1, 3)
	storetest.Append(t, m, repo.Message("user", "two"))
	storetest.Handoff(t, m, "next")
	want("after writes", 1, 1, 5)
	f := storetest.Fork(t, m, "x", "")
	storetest.Append(t, f, repo.Message("user", "of the fork"))
	want("with a fork, which has only its own entries", 1, 2, 6)
	storetest.Append(t, f, repo.Message("user", "more"))
	storetest.Append(t, m, repo.Message("user", "more"))
	want("after writes to both", 2, 2, 8)
	k, err := d.TapeRow(f)
	if err != nil || k.Base != 5 || k.Entries != 7 || k.Own() != 2 || k.Parent == 0 || k.Name != "main/x" {
		t.Errorf("the row of the fork main/x is %+v, %v; want entries 6 and 7", k, err)
	}
	all, err := d.HasAll()
	if err != nil || len(all) != 2 || all[f.Branch()] != k {
		t.Errorf("HasAll gives %+v, %v; want 2 tapes, with the fork's row %+v", all, err, k)
	}
	_, err = m.Reset(t.Context(), true)
	storetest.Must(t, err)
	if _, err := d.CatchUp(t.Context(), targets(t, s), none); err != nil {
		t.Error(err)
	}
	if k, err := d.TapeRow(m); err != nil || k.Entries != 1 {
		t.Errorf("after a reset, the row is %+v, %v; want 1 entry", k, err)
	}
	storetest.Must(t, f.Discard(t.Context()))
	storetest.Must(t, d.DropGone(t.Context(), s, targets(t, s)))
	if n, got, err := d.Totals(); err != nil || n != 1 || got != 1 {
		t.Errorf("without the fork: %d entries of %d tapes, want 1 of 1, %v", got, n, err)
	}
}

// The place, date and kind of each entry is stored.
func TestLines(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	for day := range 5 {
		d := repo.Message("user", fmt.Sprint("day ", day))
		d.Date = fmt.Sprintf("2026-11-%02dT00:00:00Z", 10+day)
		storetest.Append(t, m, d)
	}
	storetest.Handoff(t, m, "next")
	d := opened(t, "")
	_, err := d.Fill(t.Context(), targets(t, s), none)
	storetest.Must(t, err)
	k, err := d.TapeRow(m)
	storetest.Must(t, err)
	for _, e := range storetest.Entries(t, m, repo.Query{}) {
		doc := store.DocOf(k.No, e.ID)
		if store.IDOf(doc) != e.ID || store.TapeOf(doc) != k.No {
			t.Errorf("document %d is @%d of tape %d, want @%d of %d", doc, store.IDOf(doc), store.TapeOf(doc), e.ID, k.No)
		}
		l, err := d.Line(doc)
		at, _ := e.Time()
		if err != nil || l.Kind != e.Kind || l.Created != at.UnixMicro() || l.At.Offset != e.At.Offset || l.At.Length != e.At.Length {
			t.Errorf("the line of @%d is %+v, %v; want it at %+v", e.ID, l, err, e.At)
		}
		file, err := d.File(l.File)
		p, err2 := d.Phase(k.No, file.Seq)
		if err != nil || err2 != nil || p.Name != e.Anchor || p.Folder != e.At.Folder || file != (store.File{Seq: e.AnchorSeq, Name: e.At.File}) {
			t.Errorf("@%d is in the phase %+v and the file %+v, want %s and %+v, %v %v", e.ID, p, file, e.Anchor, e.At, err, err2)
		}
	}
	if l, err := d.Line(store.DocOf(k.No, 99)); !errors.Is(err, store.ErrInconsistent) {
		t.Errorf("an entry that does not exist has the line %+v, %v", l, err)
	}
	micro := func(day int) int64 { return time.Date(2026, 11, day, 0, 0, 0, 0, time.UTC).UnixMicro() }
	for id, want := range map[int64]bool{1: false, 2: false, 3: true, 5: true, 6: false} {
		if got, err := d.IsDated(store.DocOf(k.No, id), micro(11), micro(13)); err != nil || got != want {
			t.Errorf("@%d is from these days: %v, want %v, %v", id, got, want, err)
		}
	}
	blocks := 0
	storetest.Must(t, d.Dated(store.DocOf(k.No, 1), store.DocOf(k.No, 7), micro(11), micro(13), func(_ int64, whole bool) {
		if blocks++; whole {
			t.Error("all lines of the block are said to be from these days")
		}
	}))
	if blocks != 1 {
		t.Errorf("%d blocks may have lines from these days, want 1", blocks)
	}
}

// A build replaces the old index completely, and leaves nothing beside it. StateOf tells from a
// file's first bytes what it is.
func TestBuild(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	storetest.Append(t, m, repo.Message("user", "one"))
	dir := t.TempDir()
	path := filepath.Join(dir, "index.db")
	var as store.View
	state := func(what string, as store.View, want store.State) {
		t.Helper()
		if got, err := as.StateOf(path); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", what, got, err, want)
		}
	}
	state("nothing", as, store.Absent)
	storetest.WriteFile(t, filepath.Join(dir, "index-1.db"), []byte("of a build that was killed"))
	n, err := as.Build(t.Context(), path, dir, false, targets(t, s), none)
	if err != nil || n != 2 {
		t.Errorf("%d entries were added, want 2, %v", n, err)
	}
	state("built", as, store.Fresh)
	storetest.Append(t, m, repo.Message("user", "two"))
	n, err = as.Build(t.Context(), path, dir, true, targets(t, s), none)
	if err != nil || n != 1 {
		t.Errorf("%d entries were added, want 1, %v", n, err)
	}
	d := opened(t, path)
	if tapes, entries, err := d.Totals(); err != nil || tapes != 1 || entries != 3 {
		t.Errorf("%d entries of %d tapes, want 3 of 1, %v", entries, tapes, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("the folder has %v, want only the index, %v", left, err)
	}
	state("for others", store.Shown("v1", func(_ *repo.Tape, e repo.Entry) repo.Entry { return e }), store.Outdated)
	good := storetest.ReadFile(t, path)
	for what, c := range map[string]struct {
		data []byte
		want store.State
	}{
		"empty":           {nil, store.Damaged},
		"another version": {append(append(bytes.Clone(good[:60]), 0, 0, 0, 1), good[64:]...), store.Outdated},
		"another program": {append(append(bytes.Clone(good[:68]), 0, 0, 0, 1), good[72:]...), store.Foreign},
		"a text":          {[]byte("mine"), store.Foreign},
	} {
		storetest.WriteFile(t, path, c.data)
		state(what, as, c.want)
	}
	storetest.Must(t, store.Remove(path))
	storetest.Must(t, os.Mkdir(path, 0o700))
	state("a folder", as, store.Foreign)
}

// Entries that say the same have the same sign. In results of tools, numbers do not count.
func TestSignOf(t *testing.T) {
	for _, c := range []struct {
		kind, a, b string
		same       bool
	}{
		{repo.KindMessage, "port 80", "port 80", true},
		{repo.KindMessage, "port 80", "port 90", false},
		{repo.KindToolResult, "took 80 ms", "took 91 ms", true},
		{repo.KindToolResult, "took 80 ms", "gave 80 ms", false},
	} {
		if got := relevance.FoldKey(c.kind, []byte(c.a)) == relevance.FoldKey(c.kind, []byte(c.b)); got != c.same {
			t.Errorf("%s: %q and %q have the same sign: %v", c.kind, c.a, c.b, got)
		}
	}
}
