package journal

import "tape/internal/git/gitstore"

// After a crash, readers and the next writer have to agree on what the tape is. Both ask Decide: readers read what it
// says, and the writer makes it so.

// Found is what is found of a tape, whether or not a change of it was interrupted.
type Found struct {
	Change        Change
	Branch        Branch
	Tree          Tree
	UnsyncedClear bool // see Record
	OldIndex      bool // git's index of the working tree is missing, or older than the record says
}

// Change is the kind of an unfinished change.
type Change int

// The kinds of changes.
const (
	NoChange Change = iota
	Growth          // entries, anchors and commits are added
	Move            // the branch moves to a commit that need not continue its own
	Checkout        // the working tree is made, written again or removed; the branch stays
)

// Branch says where the branch is, in relation to an unfinished change.
type Branch int

// Where a branch is.
const (
	AtHead    Branch = iota // where the change began, or there is no change
	AtNext                  // at the commit that completes the change
	Elsewhere               // git has moved it; it has nothing of the change
	HasSome                 // git has moved it; it has entries of a Growth
)

// Tree is the state of the tape's working tree.
type Tree int

// The states of a working tree.
const (
	NoTree   Tree = iota
	Unfilled      // git clone --no-checkout made it, and wrote no file
	Filled
	Merging // Filled, and git is in the middle of a merge there, so any file may be git's
)

// Now is what is true of a tape, and what its next writer has to do.
type Now struct {
	Content Content

	// The writer's steps, in their order.
	GitFirst bool  // refuse while git is in the middle of a merge in the working tree
	Files    Files // what to do with the files
	EndKnown bool  // the record says what was acknowledged: check that none of it is missing
	Prune    bool  // remove tags of phases that the tape does not have
	SyncRefs bool  // sync the folders of branch and tags
	Index    bool  // make git's index again
	Durably  bool  // sync the new record

	Bare bool // only tags are missing: the tape needs no working tree for that
}

// Content is what counts as the content of a tape.
type Content int

// What is the content.
const (
	InFiles       Content = iota // the files of the working tree
	InFilesBefore                // these files, but only what the Undo says that they had
	InCommit                     // the branch's commit
)

// Files is what the next writer does with the working tree.
type Files int

// What is done with the files.
const (
	Keep       Files = iota
	RollBack         // cut the files back to what the Undo says
	FromCommit       // write them from the branch's commit
)

// Decide says what a tape is now, and what is to be finished or undone.
func Decide(f Found) Now {
	now := Now{
		EndKnown: f.Change == NoChange || f.Change == Checkout,
		Prune:    f.Change == Move || f.Change == Checkout,
		SyncRefs: f.Change != NoChange || f.Tree == NoTree,
		Index:    f.Change != NoChange || f.OldIndex,
		Durably:  f.Change != NoChange || f.Tree == NoTree || f.UnsyncedClear,
		Bare:     f.Change == Move && f.Branch == AtNext && f.Tree == NoTree,
	}
	switch {
	case f.Tree == NoTree || f.checkingOut():
		now.Content, now.Files = InCommit, FromCommit
		return now
	case f.Tree == Unfilled:
		now.Content = InCommit
	case f.Change == Growth && (f.Branch == AtHead || f.Branch == Elsewhere):
		now.Content, now.Files = InFilesBefore, RollBack
	}
	now.GitFirst = f.Tree == Unfilled || f.Tree == Merging
	return now
}

// checkingOut reports whether the working tree is being written from the branch's commit, or removed.
func (f Found) checkingOut() bool {
	return f.Branch == AtNext && (f.Change == Move || f.Change == Checkout)
}

// Change returns the kind of the change; NoChange if u is nil.
func (u *Undo) Change() Change {
	switch {
	case u == nil:
		return NoChange
	case !u.Checkout:
		return Growth
	case u.Head == u.Next:
		return Checkout
	}
	return Move
}

// Growing returns the Undo of a Growth of a tape that is as the record says.
func Growing(rec Record) *Undo {
	return &Undo{Head: rec.Head, Seq: rec.Seq, Folder: rec.Folder, Tails: rec.Tails}
}

// MoveTo returns the Undo of a Move. With clean, the working tree equals the commit old.
func MoveTo(old, next gitstore.Hash, clean bool) *Undo {
	u := &Undo{Head: old.String(), Next: next.String(), Checkout: true}
	if clean {
		u.From = u.Head
	}
	return u
}

// CheckOut returns the Undo of a Checkout. from is the commit that the working tree equals, "" if that is not known.
func CheckOut(head gitstore.Hash, from string) *Undo {
	return &Undo{Head: head.String(), Next: head.String(), Checkout: true, From: from}
}

// Rewrites reports whether the change writes the whole working tree, or removes it.
func (u *Undo) Rewrites() bool { return u.Change() == Move || u.Change() == Checkout }

// Found returns what the record tells together with the branch's commit. It does not tell Elsewhere from HasSome, for
// which the commit has to be read, and not the Tree.
func (st Record) Found(head gitstore.Hash) Found {
	f := Found{Change: st.Undo.Change(), UnsyncedClear: st.UnsyncedClear}
	if u := st.Undo; u != nil {
		switch head.String() {
		case u.Next:
			f.Branch = AtNext
		case u.Head:
			f.Branch = AtHead
		default:
			f.Branch = Elsewhere
		}
	}
	return f
}

// CheckingOut reports whether the rewrite of the working tree for the branch's commit is unfinished.
func CheckingOut(st Record, head gitstore.Hash) bool { return st.Found(head).checkingOut() }

// Moved reports whether the branch is at another commit than the record says. A branch whose checkout is
// unfinished does not count as moved.
func (st Record) Moved(head gitstore.Hash) bool {
	return st.Head != head.String() && !CheckingOut(st, head)
}
