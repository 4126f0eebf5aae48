package journal_test

import (
	"fmt"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/journal"
	"testing"
)

// TestDecide has every combination of an unfinished change, the branch and the working tree, with what the tape is and
// what the next writer does with the files. "git first": the writer refuses while git is in the middle of a merge.
func TestDecide(t *testing.T) {
	branches := map[string]journal.Branch{"at head": journal.AtHead, "at next": journal.AtNext, "elsewhere": journal.Elsewhere, "has some": journal.HasSome}
	changes := map[string]journal.Change{"none": journal.NoChange, "growth": journal.Growth, "move": journal.Move, "checkout": journal.Checkout}
	trees := []journal.Tree{journal.NoTree, journal.Unfilled, journal.Filled, journal.Merging}
	contents := map[journal.Content]string{journal.InFiles: "files", journal.InFilesBefore: "files before", journal.InCommit: "commit"}
	works := map[journal.Files]string{journal.Keep: "", journal.RollBack: ", roll back", journal.FromCommit: ", write"}
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
	steps := map[journal.Change]string{ // the other steps, and whether they need no working tree
		journal.NoChange: "end known",
		journal.Growth:   "sync refs, index, durably",
		journal.Move:     "prune, sync refs, index, durably",
		journal.Checkout: "end known, prune, sync refs, index, durably",
	}
	for _, row := range strings.Split(table, "\n")[2:] {
		cells := strings.Split(row, "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		change, branch := changes[cells[0]], branches[cells[1]]
		for i, tree := range trees {
			for _, more := range []journal.Found{{}, {UnsyncedClear: true}, {OldIndex: true}} {
				f := more
				f.Change, f.Branch, f.Tree = change, branch, tree
				now := journal.Decide(f)
				got := contents[now.Content] + works[now.Files]
				if now.GitFirst {
					got += ", git first"
				}
				if got != cells[2+i] {
					t.Errorf("%s, branch %s, tree %d: %s; want %s", cells[0], cells[1], tree, got, cells[2+i])
				}
				want := steps[change]
				if change == journal.NoChange && tree == journal.NoTree {
					want += ", sync refs"
				}
				if change == journal.NoChange && f.OldIndex {
					want += ", index"
				}
				if change == journal.NoChange && (tree == journal.NoTree || f.UnsyncedClear) {
					want += ", durably"
				}
				if change == journal.Move && branch == journal.AtNext && tree == journal.NoTree {
					want += ", bare"
				}
				if got := stepsOf(now); got != want {
					t.Errorf("%s, branch %s, tree %d, %+v: %s; want %s", cells[0], cells[1], tree, more, got, want)
				}
			}
		}
	}
}

func stepsOf(now journal.Now) string {
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
	growth := func(next string) *journal.Undo { return &journal.Undo{Head: hash("a"), Next: next} }
	rewrite := func(head, next string) *journal.Undo {
		return &journal.Undo{Head: hash(head), Next: hash(next), Checkout: true}
	}
	for i, c := range []struct {
		undo *journal.Undo
		head string
		want journal.Found
	}{
		{nil, "a", journal.Found{}},
		{growth(""), "a", journal.Found{Change: journal.Growth}},
		{growth(""), "b", journal.Found{Change: journal.Growth, Branch: journal.Elsewhere}},
		{growth(hash("b")), "b", journal.Found{Change: journal.Growth, Branch: journal.AtNext}},
		{growth(hash("b")), "c", journal.Found{Change: journal.Growth, Branch: journal.Elsewhere}},
		{rewrite("a", "b"), "a", journal.Found{Change: journal.Move}},
		{rewrite("a", "b"), "b", journal.Found{Change: journal.Move, Branch: journal.AtNext}},
		{rewrite("0", "b"), "b", journal.Found{Change: journal.Move, Branch: journal.AtNext}}, // a new tape
		{rewrite("a", "b"), "c", journal.Found{Change: journal.Move, Branch: journal.Elsewhere}},
		{rewrite("a", "a"), "a", journal.Found{Change: journal.Checkout, Branch: journal.AtNext}},
		{rewrite("a", "a"), "b", journal.Found{Change: journal.Checkout, Branch: journal.Elsewhere}},
	} {
		rec := journal.Record{Head: hash("a"), Undo: c.undo}
		head := parse(t, hash(c.head))
		got := rec.Found(head)
		if got != c.want {
			t.Errorf("case %d: %+v, want %+v", i, got, c.want)
		}
		rewriting := c.want.Branch == journal.AtNext && c.want.Change != journal.Growth
		if journal.CheckingOut(rec, head) != rewriting || rec.Moved(head) != (c.head != "a" && !rewriting) || c.undo.Rewrites() != (c.want.Change > journal.Growth) {
			t.Error("case", fmt.Sprint(i), "checking out:", journal.CheckingOut(rec, head), "moved:", rec.Moved(head), "rewrites:", c.undo.Rewrites())
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
