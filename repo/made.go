package repo

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"tape/internal/gitstore"
	"tape/internal/jsonl"
	"tape/internal/threeway"
)

// Git cannot finish a merge of two tapes: its driver sees one file at a time, and both
// sides may have added the same folder. So a merge commit that git made, here or at a
// host's merge button, is completed on the next contact: the tree is made anew from its
// parents, and committed on top unless git happened to make the same. Nothing is
// rewritten; what git made of the files does not matter.
//
// Until then git may go on: more merges, and commits by hand. What they come to is worked
// out from the newest commit that counts as it is.

// made is what a branch comes to.
type made struct {
	good *snapshot // the newest commit that counts as it is
	raw  bool        // there are newer ones
	b    *builder    // good, with what follows it
	more [][]byte    // the entries that follow it
	put  func(gitstore.Kind, []byte) gitstore.Hash
}

// made works out what a branch comes to with a commit.
func (t *Tape) made(ctx context.Context, head gitstore.Hash, put func(gitstore.Kind, []byte) gitstore.Hash) (*made, error) {
	stretch, at, err := t.store.byGit(head)
	if err != nil {
		return nil, err
	}
	m := &made{put: put}
	if err := m.begin(t, at); err != nil {
		return nil, err
	}
	for _, h := range slices.Backward(stretch) {
		c, err := t.store.git.Commit(h)
		if err != nil {
			return nil, corruptObject(h, err)
		}
		if len(c.Parents) > 1 {
			err = m.merge(ctx, t, c)
			m.raw = err == nil && m.b.tree() != c.Tree
		} else if m.raw {
			err = m.byHand(t, c)
		}
		if err == nil && !m.raw {
			err = m.begin(t, h)
		}
		if err != nil {
			return nil, err
		}
	}
	return m, nil
}

// begin takes a commit as it is.
func (m *made) begin(t *Tape, h gitstore.Hash) error {
	var err error
	if m.good, err = t.store.commitView(h); err != nil {
		return err
	}
	m.more = nil
	m.b, err = newBuilder(m.good, m.put)
	return err
}

// merge adds what a merge has besides its first parent.
func (m *made) merge(ctx context.Context, t *Tape, c gitstore.Commit) error {
	if len(c.Parents) > 2 {
		return conflict("merge one branch after the other: git reset --keep "+c.Parents[0].String()[:12]+" takes this merge back",
			"%q merges more than one branch", c.Subject())
	}
	s, err := t.sidesOf(side{c.Parents[0], m.good, m.more}, c.Parents[1], decodeTrailer(c.Trailer(trailerFork)))
	var lines [][]byte
	if err == nil {
		lines, err = s.lines(ctx)
	}
	back := "take the merge back with: git reset --keep " + c.Parents[0].String()[:12]
	switch {
	case errors.Is(err, ErrConflict):
		return &problem{class: ErrConflict, msg: fmt.Sprintf("git has merged what cannot be merged: %v", err), cause: err, hint: back}
	case errors.Is(err, ErrCorrupt):
		return &CorruptError{File: "what git has merged", Msg: err.Error(), Fix: back}
	case err != nil:
		return err
	}
	if err := m.add(lines); err != nil || m.b.tree() == c.Tree {
		return err
	}
	own, err := t.linesOfMerge(ctx, s, c)
	if err != nil {
		return err
	}
	return m.addNumbered(t, own)
}

// addNumbered adds entries, which get the next ids.
func (m *made) addNumbered(t *Tape, lines [][]byte) error {
	last, err := m.lastID()
	if err != nil {
		return err
	}
	for i, line := range lines {
		if lines[i], err = t.numbered(line, last+int64(i)+1); err != nil {
			return err
		}
	}
	return m.add(lines)
}

// lastID is the last entry so far.
func (m *made) lastID() (int64, error) {
	last, err := m.good.lastID()
	return last + int64(len(m.more)), err
}

// linesOfMerge are the entries that a merge's own tree has, and neither parent: they were
// not committed before, and whoever concluded the merge by hand has added them to it.
func (t *Tape) linesOfMerge(ctx context.Context, s *sides, c gitstore.Commit) ([][]byte, error) {
	var parents [2]gitstore.Hash // their trees
	for i, h := range c.Parents {
		parent, err := t.store.git.Commit(h)
		if err != nil {
			return nil, corruptObject(h, err)
		}
		parents[i] = parent.Tree
	}
	files, err := t.store.changedFiles("", c.Tree, parents[:]...)
	if err != nil {
		return nil, err
	}
	var found []jsonl.Entry
	for _, f := range files {
		if f.path == tapeFile || f.mode != gitstore.ModeFile {
			continue
		}
		entries, err := t.store.linesOnlyIn(f.hash, f.was...)
		if err != nil {
			return nil, err
		}
		found = append(found, entries...)
	}
	if len(found) == 0 {
		return nil, nil
	}
	known, err := s.told(ctx)
	if err != nil {
		return nil, err
	}
	return byID(slices.DeleteFunc(found, func(e jsonl.Entry) bool { return known[content(e)] })), nil
}

// linesOnlyIn are the entries of a file that two others (zero: there is none) have not.
// What is no entry is what git writes where it stops.
func (s *Store) linesOnlyIn(h gitstore.Hash, others ...gitstore.Hash) ([]jsonl.Entry, error) {
	known := map[string]bool{}
	for _, other := range others {
		if other.IsZero() {
			continue
		}
		data, err := s.git.Blob(other)
		if err != nil {
			return nil, corruptObject(other, err)
		}
		for line := range bytes.Lines(data) {
			known[string(bytes.TrimSuffix(line, []byte("\n")))] = true
		}
	}
	data, err := s.git.Blob(h)
	if err != nil {
		return nil, corruptObject(h, err)
	}
	var out []jsonl.Entry
	for line := range bytes.Lines(data) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		if known[string(line)] {
			continue
		}
		if e, err := jsonl.Parse(bytes.Clone(line)); err == nil {
			out = append(out, e)
		}
	}
	return out, nil
}

func (m *made) add(lines [][]byte) error {
	for _, line := range lines {
		if err := m.b.addLine(line); err != nil {
			return err
		}
	}
	m.more = append(m.more, lines...)
	return nil
}

// byHand adds what a commit has, made by hand on top of a merge whose tree does not count.
func (m *made) byHand(t *Tape, c gitstore.Commit) error {
	parent, err := t.store.git.Commit(c.Parents[0])
	if err != nil {
		return corruptObject(c.Parents[0], err)
	}
	lines, err := t.store.addedLines(parent.Tree, c.Tree)
	if err != nil {
		return err
	}
	return m.addNumbered(t, lines)
}

// numbered gives an entry of the tape another id, if it needs one.
func (t *Tape) numbered(line []byte, id int64) ([]byte, error) {
	if has, err := jsonl.ParseID(line); err == nil && has == id {
		return line, nil
	}
	return threeway.Renumber(nil, line, id, t.origin())
}

// addedLines are the lines that files of one tree have behind those of another, by their
// ids.
func (s *Store) addedLines(old, next gitstore.Hash) ([][]byte, error) {
	files, err := s.changedFiles("", next, old)
	if err != nil {
		return nil, err
	}
	var found []jsonl.Entry
	for _, f := range files {
		if f.path == tapeFile {
			continue
		}
		data, err := s.git.Blob(f.hash)
		if err != nil {
			return nil, corruptObject(next, err)
		}
		entries, err := s.beyond(data, f.was[0], f.path)
		if err != nil {
			return nil, err
		}
		found = append(found, entries...)
	}
	return byID(found), nil
}

// changedFile is a file of a tree that some others have not as it is.
type changedFile struct {
	path string
	mode uint32
	hash gitstore.Hash
	was  []gitstore.Hash // in each of the others; zero if it has none
}

// changedFiles lists the files of a tree that none of some others has as they are.
func (s *Store) changedFiles(prefix string, tree gitstore.Hash, others ...gitstore.Hash) ([]changedFile, error) {
	lists := make([][]gitstore.TreeEntry, len(others)+1)
	for i, h := range append([]gitstore.Hash{tree}, others...) {
		if h.IsZero() {
			continue
		}
		var err error
		if lists[i], err = s.git.Tree(h); err != nil {
			return nil, corruptObject(h, err)
		}
	}
	var out []changedFile
	for _, e := range lists[0] {
		was := make([]gitstore.Hash, len(others))
		for i, list := range lists[1:] {
			if old, ok := findEntry(list, e.Name); ok && old.IsDir() == e.IsDir() {
				was[i] = old.Hash
			}
		}
		switch {
		case slices.Contains(was, e.Hash):
		case e.IsDir():
			files, err := s.changedFiles(prefix+e.Name+"/", e.Hash, was...)
			if err != nil {
				return nil, err
			}
			out = append(out, files...)
		default:
			out = append(out, changedFile{prefix + e.Name, e.Mode, e.Hash, was})
		}
	}
	return out, nil
}

// mergedTree makes the tree that a merge of this program has to have, from its parents.
func (t *Tape) mergedTree(ctx context.Context, c gitstore.Commit) (gitstore.Hash, error) {
	m := &made{put: gitstore.HashObject}
	err := m.begin(t, c.Parents[0])
	if err == nil {
		err = m.merge(ctx, t, c)
	}
	if err != nil {
		return gitstore.ZeroHash, err
	}
	return m.b.tree(), nil
}

// previous is the commit before one, by first parents, that counts as it is; false if
// there is none. What the commit completes is passed over.
func (t *Tape) previous(c gitstore.Commit) (gitstore.Hash, bool, error) {
	if len(c.Parents) == 0 {
		return gitstore.ZeroHash, false, nil
	}
	h := c.Parents[0]
	if c.Trailer(trailerDone) != h.String() {
		return h, true, nil
	}
	m, err := t.ownerOf(h).made(context.Background(), h, gitstore.HashObject)
	if err != nil {
		return h, false, err
	}
	return m.good.commit, true, nil
}

// byID returns the lines of entries in the order of their ids.
func byID(found []jsonl.Entry) [][]byte {
	slices.SortStableFunc(found, func(a, b jsonl.Entry) int { return cmp.Compare(a.ID, b.ID) })
	out := make([][]byte, len(found))
	for i, e := range found {
		out[i] = e.Raw
	}
	return out
}

// beyond returns the entries that a file has behind a blob (zero: all of them).
func (s *Store) beyond(data []byte, h gitstore.Hash, file string) ([]jsonl.Entry, error) {
	if !h.IsZero() {
		blob, err := s.git.Blob(h)
		if err != nil {
			return nil, corruptObject(h, err)
		}
		rest, ok := bytes.CutPrefix(data, blob)
		if !ok {
			return nil, conflict("git checkout -- "+shellWord(file)+" brings it back", "%s was changed, where lines are only added", file)
		}
		data = rest
	}
	var out []jsonl.Entry
	for line := range bytes.Lines(data) {
		line, whole := bytes.CutSuffix(line, []byte("\n"))
		if !whole {
			break // never acknowledged
		}
		e, err := jsonl.Parse(bytes.Clone(line))
		if err != nil {
			return nil, &CorruptError{File: file, Msg: "after git merged: " + err.Error()}
		}
		out = append(out, e)
	}
	return out, nil
}
