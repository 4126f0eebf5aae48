package journal

import (
	"fmt"
	"strings"
	"tape/internal/git/gitstore"
	"testing"
)

// TestDecide has every combination of an unfinished change, the branch and the working tree, with what the tape is and
// what the next writer does with the files. "git first": the writer refuses until git has finished.
func TestDecide(t *testing.T) {
	branches := map[string]Branch{"at head": AtHead, "at next": AtNext, "elsewhere": Elsewhere, "has some": HasSome}
	changes := map[string]Change{"none": NoChange, "growth": Growth, "move": Move, "checkout": Checkout}
	trees := []Tree{NoTree, Unfilled, Filled, Merging}
	contents := map[Content]string{InFiles: "files", InFilesBefore: "files before", InCommit: "commit"}
	works := map[Files]string{Keep: "", RollBack: ", roll back", FromCommit: ", write"}
	const table = `
		change   | branch    | no tree       | unfilled          | filled                  | merging
		none     | at head   | commit, write | commit, git first | files                   | files, git first
		growth   | at head   | commit, write | commit, git first | files before, roll back | files before, roll back, git first
		growth   | at next   | commit, write | commit, git first | files                   | files, git first
		growth   | elsewhere | commit, write | commit, git first | files before, roll back | files before, roll back, git first
		growth   | has some  | commit, write | commit, git first | files                   | files, git first
		move     | at head   | commit, write | commit, git first | files                   | files, git first
		move     | at next   | commit, write | commit, write     | commit, write           | commit, write
		move     | elsewhere | commit, write | commit, git first | files                   | files, git first
		checkout | at next   | commit, write | commit, write     | commit, write           | commit, write
		checkout | elsewhere | commit, write | commit, git first | files                   | files, git first`
	steps := map[Change]string{ // the other steps, and whether they need no working tree
		NoChange: "end known",
		Growth:   "sync refs, index, durably",
		Move:     "prune, sync refs, index, durably",
		Checkout: "end known, prune, sync refs, index, durably",
	}
	for _, row := range strings.Split(table, "\n")[2:] {
		cells := strings.Split(row, "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		change, branch := changes[cells[0]], branches[cells[1]]
		for i, tree := range trees {
			for _, more := range []Found{{}, {UnsyncedClear: true}, {OldIndex: true}} {
				f := more
				f.Change, f.Branch, f.Tree = change, branch, tree
				now := Decide(f)
				got := contents[now.Content] + works[now.Files]
				if now.GitFirst {
					got += ", git first"
				}
				if got != cells[2+i] {
					t.Errorf("%s, branch %s, tree %d: %s; want %s", cells[0], cells[1], tree, got, cells[2+i])
				}
				want := steps[change]
				if change == NoChange && tree == NoTree {
					want += ", sync refs"
				}
				if change == NoChange && f.OldIndex {
					want += ", index"
				}
				if change == NoChange && (tree == NoTree || f.UnsyncedClear) {
					want += ", durably"
				}
				if change == Move && branch == AtNext && tree == NoTree {
					want += ", bare"
				}
				if got := stepsOf(now); got != want {
					t.Errorf("%s, branch %s, tree %d, %+v: %s; want %s", cells[0], cells[1], tree, more, got, want)
				}
			}
		}
	}
}

func stepsOf(now Now) string {
	var out []string
	for _, s := range []struct {
		on   bool
		name string
	}{
		{now.EndKnown, "end known"}, {now.Prune, "prune"}, {now.SyncRefs, "sync refs"}, {now.Index, "index"}, {now.Durably, "durably"}, {now.Bare, "bare"},
	} {
		if s.on {
			out = append(out, s.name)
		}
	}
	return strings.Join(out, ", ")
}

// TestFound: which kind of change a record has, and where its branch is.
func TestFound(t *testing.T) {
	hash := func(c string) string { return strings.Repeat(c, 40) }
	growth := func(next string) *Undo { return &Undo{Head: hash("a"), Next: next} }
	rewrite := func(head, next string) *Undo { return &Undo{Head: hash(head), Next: hash(next), Checkout: true} }
	for i, c := range []struct {
		undo *Undo
		head string
		want Found
	}{
		{nil, "a", Found{}},
		{growth(""), "a", Found{Change: Growth}},
		{growth(""), "b", Found{Change: Growth, Branch: Elsewhere}},
		{growth(hash("b")), "b", Found{Change: Growth, Branch: AtNext}},
		{growth(hash("b")), "c", Found{Change: Growth, Branch: Elsewhere}},
		{rewrite("a", "b"), "a", Found{Change: Move}},
		{rewrite("a", "b"), "b", Found{Change: Move, Branch: AtNext}},
		{rewrite("0", "b"), "b", Found{Change: Move, Branch: AtNext}}, // a new tape
		{rewrite("a", "b"), "c", Found{Change: Move, Branch: Elsewhere}},
		{rewrite("a", "a"), "a", Found{Change: Checkout, Branch: AtNext}},
		{rewrite("a", "a"), "b", Found{Change: Checkout, Branch: Elsewhere}},
	} {
		rec := Record{Head: hash("a"), Undo: c.undo}
		head := parse(t, hash(c.head))
		got := rec.Found(head)
		if got != c.want {
			t.Errorf("case %d: %+v, want %+v", i, got, c.want)
		}
		rewriting := c.want.Branch == AtNext && c.want.Change != Growth
		if CheckingOut(rec, head) != rewriting || rec.Moved(head) != (c.head != "a" && !rewriting) || c.undo.Rewrites() != (c.want.Change > Growth) {
			t.Error("case", fmt.Sprint(i), "checking out:", CheckingOut(rec, head), "moved:", rec.Moved(head), "rewrites:", c.undo.Rewrites())
		}
	}
}

func parse(t *testing.T, hex string) gitstore.Hash {
	t.Helper()
	h, err := gitstore.ParseHash(hex)
	if err != nil {
		t.Fatal(err)
	}
	return h
}
