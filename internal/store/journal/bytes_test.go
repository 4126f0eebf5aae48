package journal

import (
	"strings"
	"testing"

	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
)

// TestRecordBytes has a record of each kind of change as version 6 has always been written. It is read as that kind, and
// what makes such a record today writes the same bytes.
func TestRecordBytes(t *testing.T) {
	hash := func(c string) gitstore.Hash { return parse(t, strings.Repeat(c, 40)) }
	tails := [layout.ClassCount]Tail{{Seg: 1, Size: 120, Time: 7, Sum: 9}, {}, {Seg: 2, Size: 101, Sum: 8}}
	rec := Record{Count: 12, Synced: true, Gen: 4, Branch: "refs/heads/tape/main", Head: hash("a").String(), Home: ".", Committed: 3, Seq: 2, Folder: "002_x", Anchor: "x",
		LastID: 5, Owner: "A <a@b>", Tails: tails, DirTime: 1, PhaseTime: 2, IndexTime: 3}
	const (
		start   = `{"v":6,"n":12,"synced":true,"gen":4,"branch":"refs/heads/tape/main","head":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","home":".","committed":3,"seq":2,"folder":"002_x","anchor":"x","last_id":5,"owner":"A \u003ca@b\u003e","tails":[{"seg":1,"size":120,"time":7,"sum":9},{"seg":0,"size":0},{"seg":2,"size":101,"sum":8}],"dir_time":1,"phase_time":2,"index_time":3`
		noTails = `"seq":0,"folder":"","tails":[{"seg":0,"size":0},{"seg":0,"size":0},{"seg":0,"size":0}]`
		a       = `"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"`
		b       = `"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"`
	)
	growing, complete := Growing(rec), Growing(rec)
	complete.Next = hash("b").String()
	for name, c := range map[string]struct {
		undo  *Undo
		kind  Change
		bytes string
	}{
		"none":           {nil, NoChange, "7ff5d36d " + start + "}\n"},
		"growth":         {growing, Growth, "c9cc4105 " + start + `,"undo":{"head":` + a + `,"seq":2,"folder":"002_x","tails":[{"seg":1,"size":120,"time":7,"sum":9},{"seg":0,"size":0},{"seg":2,"size":101,"sum":8}]}}` + "\n"},
		"growth, commit": {complete, Growth, "4185ab5a " + start + `,"undo":{"head":` + a + `,"next":` + b + `,"seq":2,"folder":"002_x","tails":[{"seg":1,"size":120,"time":7,"sum":9},{"seg":0,"size":0},{"seg":2,"size":101,"sum":8}]}}` + "\n"},
		"move":           {MoveTo(hash("a"), hash("b"), false), Move, "53124597 " + start + `,"undo":{"head":` + a + `,"next":` + b + `,` + noTails + `,"checkout":true}}` + "\n"},
		"move, clean":    {MoveTo(hash("a"), hash("b"), true), Move, "8442c1d4 " + start + `,"undo":{"head":` + a + `,"next":` + b + `,` + noTails + `,"checkout":true,"from":` + a + `}}` + "\n"},
		"checkout":       {CheckOut(hash("a"), ""), Checkout, "8c991fac " + start + `,"undo":{"head":` + a + `,"next":` + a + `,` + noTails + `,"checkout":true}}` + "\n"},
		"checkout, from": {CheckOut(hash("a"), hash("b").String()), Checkout, "56d953f0 " + start + `,"undo":{"head":` + a + `,"next":` + a + `,` + noTails + `,"checkout":true,"from":` + b + `}}` + "\n"},
	} {
		rec.Undo = c.undo
		if raw, err := encode(rec); err != nil || string(raw) != c.bytes {
			t.Errorf("%s is written as\n%swant\n%s(error %v)", name, raw, c.bytes, err)
		}
		if got := decode([]byte(c.bytes)); got.Count != 12 || got.Undo.Change() != c.kind || got.LastID != 5 || got.Tails != tails || c.undo != nil && *got.Undo != *c.undo {
			t.Errorf("%s is read as %+v", name, got)
		}
	}
}
