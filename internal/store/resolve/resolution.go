package resolve

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/text/jsonl"
	"tape/internal/text/threeway"
)

// Git cannot merge two tapes completely: its driver sees one file at a time, and both sides may have added
// the same folder. So the next command after a merge by git, here or at a host's merge button, completes
// it: the tree is computed from the parents, and committed on top unless git's tree is the same. Nothing is
// rewritten, and what git made of the files does not matter.
//
// Until then git may add more merges, and commits by hand. The result is computed from the newest commit
// that needs no completion.

// Resolution is the correct state of a branch.
type Resolution struct {
	Good *snapshot.Snapshot // the newest commit that needs no completion
	Raw  bool               // newer commits need completion
	B    *Builder           // Good and the entries after it
	more [][]byte           // the lines after Good
	put  func(gitstore.Kind, []byte) gitstore.Hash
}

// Resolve computes the correct state of a branch at a commit.
func Resolve(ctx context.Context, t *workspace.Tape, head gitstore.Hash, put func(gitstore.Kind, []byte) gitstore.Hash) (*Resolution, error) {
	stretch, good, err := snapshot.ByGit(t.Store(), head)
	if err != nil {
		return nil, err
	}
	m := &Resolution{put: put}
	if err := m.begin(t, good); err != nil {
		return nil, err
	}
	for _, h := range slices.Backward(stretch) {
		c, err := t.Store().Git().Commit(h)
		if err != nil {
			return nil, layout.CorruptObject(h, err)
		}
		if len(c.Parents) > 1 {
			err = m.merge(ctx, t, c)
			m.Raw = err == nil && m.B.Tree() != c.Tree
		} else if m.Raw {
			err = m.byHand(t, c)
		}
		if err == nil && !m.Raw {
			err = m.begin(t, h)
		}
		if err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *Resolution) begin(t *workspace.Tape, h gitstore.Hash) error {
	var err error
	if m.Good, err = snapshot.AtCommit(t.Store(), h); err != nil {
		return err
	}
	m.more = nil
	m.B, err = NewBuilder(m.Good, m.put)
	return err
}

// merge adds what a merge commit has besides its first parent.
func (m *Resolution) merge(ctx context.Context, t *workspace.Tape, c gitstore.Commit) error {
	dir := t.Store().Dir()
	if wt, _, err := t.Worktree(); err == nil {
		dir = wt.Dir
	}
	undo := "git -C " + layout.ShellWord(dir) + " reset --keep " + c.Parents[0].String()[:12]
	if len(c.Parents) > 2 {
		return layout.Conflict("merge one branch after the other: "+undo+" undoes this merge",
			"%q merges more than one branch", c.Subject())
	}
	s, err := InputsOf(t, Side{c.Parents[0], m.Good, m.more}, c.Parents[1], layout.DecodeTrailer(c.Trailer(layout.TrailerFork)))
	var lines [][]byte
	if err == nil {
		lines, err = s.Lines(ctx)
	}
	back := "undo the merge with: " + undo
	switch {
	case errors.Is(err, layout.ErrConflict):
		return &layout.Error{Class: layout.ErrConflict, Msg: fmt.Sprintf("git has merged two histories that cannot be merged: %v", err), Cause: err, Way: layout.Words(back)}
	case errors.Is(err, layout.ErrCorrupt):
		return &layout.CorruptError{File: "the merge by git", Msg: err.Error(), Fix: back}
	case err != nil:
		return err
	}
	m.B.From = append(m.B.From, s.Them)
	if err := m.add(lines); err != nil || m.B.Tree() == c.Tree {
		return err
	}
	own, err := linesOfMerge(ctx, t, s, c)
	if err != nil || len(own) == 0 {
		return err
	}
	if err := m.artifactsOf(t, c.Tree); err != nil {
		return err
	}
	return m.addNumbered(t, own)
}

// artifactsOf makes the artifacts of a tree made by git available to lines. The tree need not be a valid tape.
func (m *Resolution) artifactsOf(t *workspace.Tape, tree gitstore.Hash) error {
	git := t.Store().Git()
	root, err := git.Tree(tree)
	if err != nil {
		return err
	}
	anchors, ok := layout.FindEntry(root, layout.AnchorsDir)
	if !ok || !anchors.IsDir() {
		return nil
	}
	phases, err := git.Tree(anchors.Hash)
	for _, p := range phases {
		if err != nil || !p.IsDir() {
			continue
		}
		var files, found []gitstore.TreeEntry
		if files, err = git.Tree(p.Hash); err == nil {
			found, err = snapshot.ArtifactsOf(git, files)
			m.B.Loose = append(m.B.Loose, found...)
		}
	}
	return err
}

func (m *Resolution) addNumbered(t *workspace.Tape, lines [][]byte) error {
	last, err := m.Good.LastID()
	if err != nil {
		return err
	}
	last += int64(len(m.more))
	for i, line := range lines {
		if lines[i], err = Numbered(t, line, last+int64(i)+1); err != nil {
			return err
		}
	}
	return m.add(lines)
}

// linesOfMerge returns the entries in a merge's tree that neither parent has: uncommitted entries that were
// committed with the merge when it was concluded by hand.
func linesOfMerge(ctx context.Context, t *workspace.Tape, s *Inputs, c gitstore.Commit) ([][]byte, error) {
	var parents [2]gitstore.Hash // their trees
	for i, h := range c.Parents {
		parent, err := t.Store().Git().Commit(h)
		if err != nil {
			return nil, layout.CorruptObject(h, err)
		}
		parents[i] = parent.Tree
	}
	files, err := changedFiles(t.Store(), "", c.Tree, parents[:]...)
	if err != nil {
		return nil, err
	}
	var found []jsonl.Entry
	for _, f := range files {
		if slices.Contains(layout.RootFiles(), f.path) || f.mode != gitstore.ModeFile {
			continue
		}
		entries, err := linesOnlyIn(t.Store(), f.hash, f.was...)
		if err != nil {
			return nil, err
		}
		found = append(found, entries...)
	}
	if len(found) == 0 {
		return nil, nil
	}
	recorded, err := s.contents(ctx)
	return ByID(slices.DeleteFunc(found, func(e jsonl.Entry) bool { return recorded[Content(e)] })), err
}

// linesOnlyIn returns the entries of the file h that others (zero: missing) lack. It ignores lines that are
// not entries, such as git's conflict markers.
func linesOnlyIn(s *workspace.Store, h gitstore.Hash, others ...gitstore.Hash) ([]jsonl.Entry, error) {
	theirs := map[string]bool{}
	for _, other := range others {
		if other.IsZero() {
			continue
		}
		data, err := s.Git().Blob(other)
		if err != nil {
			return nil, layout.CorruptObject(other, err)
		}
		for line := range bytes.Lines(data) {
			theirs[string(bytes.TrimSuffix(line, []byte("\n")))] = true
		}
	}
	data, err := s.Git().Blob(h)
	if err != nil {
		return nil, layout.CorruptObject(h, err)
	}
	var out []jsonl.Entry
	for line := range bytes.Lines(data) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		if theirs[string(line)] {
			continue
		}
		if e, err := jsonl.Parse(bytes.Clone(line)); err == nil {
			out = append(out, e)
		}
	}
	return out, nil
}

func (m *Resolution) add(lines [][]byte) error {
	for _, line := range lines {
		if err := m.B.AddLine(line); err != nil {
			return err
		}
	}
	m.more = append(m.more, lines...)
	return nil
}

// byHand adds the entries of a commit made by hand on top of a merge whose tree does not count.
func (m *Resolution) byHand(t *workspace.Tape, c gitstore.Commit) error {
	parent, err := t.Store().Git().Commit(c.Parents[0])
	if err != nil {
		return layout.CorruptObject(c.Parents[0], err)
	}
	if err := m.artifactsOf(t, c.Tree); err != nil {
		return err
	}
	lines, err := addedLines(t.Store(), parent.Tree, c.Tree)
	if err != nil {
		return err
	}
	return m.addNumbered(t, lines)
}

// Numbered returns an entry's line with the given id, and renumbers the entry if it has another.
func Numbered(t *workspace.Tape, line []byte, id int64) ([]byte, error) {
	if has, err := jsonl.ParseID(line); err == nil && has == id {
		return line, nil
	}
	return threeway.Renumber(nil, line, id, origin(t))
}

// addedLines returns the lines that the tree next added to the files of the tree old, sorted by id.
func addedLines(s *workspace.Store, old, next gitstore.Hash) ([][]byte, error) {
	files, err := changedFiles(s, "", next, old)
	if err != nil {
		return nil, err
	}
	var found []jsonl.Entry
	for _, f := range files {
		if slices.Contains(layout.RootFiles(), f.path) {
			continue
		}
		data, err := s.Git().Blob(f.hash)
		if err != nil {
			return nil, layout.CorruptObject(next, err)
		}
		entries, err := Beyond(s, data, f.was[0], f.path, "")
		if err != nil {
			return nil, err
		}
		found = append(found, entries...)
	}
	return ByID(found), nil
}

// changedFile is a file of a tree that differs from the file at the same path in all other trees.
type changedFile struct {
	path string
	mode uint32
	hash gitstore.Hash
	was  []gitstore.Hash // in each of the others; zero if missing
}

// changedFiles returns the files of a tree that differ from all others. It leaves out artifacts.
func changedFiles(s *workspace.Store, prefix string, tree gitstore.Hash, others ...gitstore.Hash) ([]changedFile, error) {
	lists := make([][]gitstore.TreeEntry, len(others)+1)
	for i, h := range append([]gitstore.Hash{tree}, others...) {
		if h.IsZero() {
			continue
		}
		var err error
		if lists[i], err = s.Git().Tree(h); err != nil {
			return nil, layout.CorruptObject(h, err)
		}
	}
	var out []changedFile
	for _, e := range lists[0] {
		if e.IsDir() && e.Name == layout.ArtifactsDir {
			continue // artifacts are not entries
		}
		was := make([]gitstore.Hash, len(others))
		for i, list := range lists[1:] {
			if old, ok := layout.FindEntry(list, e.Name); ok && old.IsDir() == e.IsDir() {
				was[i] = old.Hash
			}
		}
		switch {
		case slices.Contains(was, e.Hash):
		case e.IsDir():
			files, err := changedFiles(s, prefix+e.Name+"/", e.Hash, was...)
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

// MergedTree returns the tree that a merge by tape must have, computed from its parents.
func MergedTree(ctx context.Context, t *workspace.Tape, c gitstore.Commit) (gitstore.Hash, error) {
	m := &Resolution{put: gitstore.HashObject}
	err := m.begin(t, c.Parents[0])
	if err == nil {
		err = m.merge(ctx, t, c)
	}
	if err != nil {
		return gitstore.ZeroHash, err
	}
	return m.B.Tree(), nil
}

// Previous returns the newest commit before c, by first parents, that needs no completion; false if there is
// none. If c completes a merge, the merge is skipped.
func Previous(t *workspace.Tape, c gitstore.Commit) (gitstore.Hash, bool, error) {
	if len(c.Parents) == 0 {
		return gitstore.ZeroHash, false, nil
	}
	h := c.Parents[0]
	if c.Trailer(layout.TrailerCompletes) != h.String() {
		return h, true, nil
	}
	m, err := Resolve(context.Background(), snapshot.OwnerOf(t, h), h, gitstore.HashObject)
	if err != nil {
		return h, false, err
	}
	return m.Good.Commit, true, nil
}

// ByID returns the lines of entries in the order of their ids.
func ByID(found []jsonl.Entry) [][]byte {
	slices.SortStableFunc(found, func(a, b jsonl.Entry) int { return cmp.Compare(a.ID, b.ID) })
	out := make([][]byte, len(found))
	for i, e := range found {
		out[i] = e.Raw
	}
	return out
}

// Beyond returns the entries in data, the content of a file, after those of its earlier version, the blob h
// (zero: all entries). Errors: ErrConflict with a hint if data does not begin with the blob.
func Beyond(s *workspace.Store, data []byte, h gitstore.Hash, file, hint string) ([]jsonl.Entry, error) {
	if !h.IsZero() {
		blob, err := s.Git().Blob(h)
		if err != nil {
			return nil, layout.CorruptObject(h, err)
		}
		rest, ok := bytes.CutPrefix(data, blob)
		if !ok {
			return nil, layout.Conflict(hint, "%s was changed, but lines can only be added", file)
		}
		data = rest
	}
	var out []jsonl.Entry
	for line := range bytes.Lines(data) {
		line, complete := bytes.CutSuffix(line, []byte("\n"))
		if !complete {
			break // never acknowledged
		}
		e, err := jsonl.Parse(bytes.Clone(line))
		if err != nil {
			return nil, &layout.CorruptError{File: file, Msg: "after git merged: " + err.Error()}
		}
		out = append(out, e)
	}
	return out, nil
}
