package journal_test

import (
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tape/internal/git/disk"
	"tape/internal/git/gitstore"
	"tape/internal/store/journal"
	"tape/internal/store/layout"
)

// TestRecordBytes has a record of each kind of change as version 6 has always been written. It is read as that kind, and
// what makes such a record today writes the same bytes.
func TestRecordBytes(t *testing.T) {
	hash := func(c string) gitstore.Hash { return parse(t, strings.Repeat(c, 40)) }
	tails := [layout.ClassCount]journal.Tail{{Seg: 1, Size: 120, Time: 7, Sum: 9}, {}, {Seg: 2, Size: 101, Sum: 8}}
	rec := journal.Record{Count: 12, Synced: true, Gen: 4, Branch: "refs/heads/tape/main", Head: hash("a").String(), Home: ".", Committed: 3, Seq: 2, Folder: "002_x", Anchor: "x",
		LastID: 5, Owner: "A <a@b>", Tails: tails, DirTime: 1, PhaseTime: 2, IndexTime: 3}
	const (
		start   = `{"v":6,"n":12,"synced":true,"gen":4,"branch":"refs/heads/tape/main","head":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","home":".","committed":3,"seq":2,"folder":"002_x","anchor":"x","last_id":5,"owner":"A \u003ca@b\u003e","tails":[{"seg":1,"size":120,"time":7,"sum":9},{"seg":0,"size":0},{"seg":2,"size":101,"sum":8}],"dir_time":1,"phase_time":2,"index_time":3`
		noTails = `"seq":0,"folder":"","tails":[{"seg":0,"size":0},{"seg":0,"size":0},{"seg":0,"size":0}]`
		a       = `"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"`
		b       = `"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"`
	)
	growing, complete := journal.Growing(rec), journal.Growing(rec)
	complete.Next = hash("b").String()
	for name, c := range map[string]struct {
		undo  *journal.Undo
		kind  journal.Change
		bytes string
	}{
		"none":           {nil, journal.NoChange, "7ff5d36d " + start + "}\n"},
		"growth":         {growing, journal.Growth, "c9cc4105 " + start + `,"undo":{"head":` + a + `,"seq":2,"folder":"002_x","tails":[{"seg":1,"size":120,"time":7,"sum":9},{"seg":0,"size":0},{"seg":2,"size":101,"sum":8}]}}` + "\n"},
		"growth, commit": {complete, journal.Growth, "4185ab5a " + start + `,"undo":{"head":` + a + `,"next":` + b + `,"seq":2,"folder":"002_x","tails":[{"seg":1,"size":120,"time":7,"sum":9},{"seg":0,"size":0},{"seg":2,"size":101,"sum":8}]}}` + "\n"},
		"move":           {journal.MoveTo(hash("a"), hash("b"), false), journal.Move, "53124597 " + start + `,"undo":{"head":` + a + `,"next":` + b + `,` + noTails + `,"checkout":true}}` + "\n"},
		"move, clean":    {journal.MoveTo(hash("a"), hash("b"), true), journal.Move, "8442c1d4 " + start + `,"undo":{"head":` + a + `,"next":` + b + `,` + noTails + `,"checkout":true,"from":` + a + `}}` + "\n"},
		"checkout":       {journal.CheckOut(hash("a"), ""), journal.Checkout, "8c991fac " + start + `,"undo":{"head":` + a + `,"next":` + a + `,` + noTails + `,"checkout":true}}` + "\n"},
		"checkout, from": {journal.CheckOut(hash("a"), hash("b").String()), journal.Checkout, "56d953f0 " + start + `,"undo":{"head":` + a + `,"next":` + a + `,` + noTails + `,"checkout":true,"from":` + b + `}}` + "\n"},
	} {
		rec.Undo = c.undo
		f, err := (&disk.FS{}).OpenFile(filepath.Join(t.TempDir(), "lock"), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		if _, err := f.WriteAt([]byte(c.bytes), 0); err != nil {
			t.Fatal(err)
		}
		got, ok, err := journal.Read(f)
		if err != nil || !ok || got.Count != 12 || got.Undo.Change() != c.kind || got.LastID != 5 || got.Tails != tails || c.undo != nil && *got.Undo != *c.undo {
			t.Errorf("%s is read as %+v, %v, %v", name, got, ok, err)
		}
		if err := journal.Save(f, rec, true); err != nil { // the next one, into the other slot
			t.Fatal(err)
		}
		_, body, _ := strings.Cut(strings.Replace(c.bytes, `"n":12,`, `"n":13,`, 1), " ")
		want := fmt.Sprintf("%08x %s", crc32.ChecksumIEEE([]byte(strings.TrimSuffix(body, "\n"))), body)
		raw, err := os.ReadFile(f.Name())
		if err != nil || len(raw) != 8<<10+len(want) || string(raw[8<<10:]) != want {
			t.Errorf("%s is written as\n%swant\n%s(error %v)", name, raw[min(len(raw), 8<<10):], want, err)
		}
	}
}
