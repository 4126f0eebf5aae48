package repo

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tape/internal/gitstore"
	"tape/internal/jsonl"
)

// history walks the first parents from the oldest commit on, and returns the commit that
// each phase came with, by folder. Of a fork it is what was not looked at yet, and the
// phases of its own.
func (v *verifier) history(t *Tape, head gitstore.Hash) (map[string]gitstore.Hash, error) {
	return v.historyFrom(t, head, false)
}

// historyFrom is history; with merged, of what was merged: only what was not looked at yet.
// Else each merge would be made again for every merge above it.
func (v *verifier) historyFrom(t *Tape, head gitstore.Hash, merged bool) (map[string]gitstore.Hash, error) {
	chain, before, err := v.chain(t, head, merged)
	if err != nil {
		return nil, err
	}
	return v.walk(t, chain, before, t.start(head))
}

// walk checks commits, the newest first, that follow a known one.
func (v *verifier) walk(t *Tape, chain []gitstore.Hash, before *commitView, start gitstore.Hash) (map[string]gitstore.Hash, error) {
	opened := map[string]gitstore.Hash{}
	var raw gitstore.Hash // a merge that git made, which the next commit has to complete
	inherited := slices.Contains(chain, start)
	for _, h := range slices.Backward(chain) {
		if err := v.ctx.Err(); err != nil {
			return nil, err
		}
		v.report.Checked.Commits++
		c, err := v.s.git.Commit(h)
		if err != nil {
			continue // chain has told
		}
		// What is before the beginning of a fork is its parent's.
		owner := t
		if inherited = inherited && h != start; inherited {
			owner = t.ownerOf(h)
		}
		byGit := c.Trailer(trailerFormat) == "" && !raw.IsZero() || len(c.Parents) > 1 && !v.s.ownMerge(h, c)
		if byGit && before != nil {
			if raw = v.byGit(owner, h, c); !raw.IsZero() {
				continue // the commit that completes it counts
			}
		} else if !raw.IsZero() {
			v.completes(owner, raw, h, c)
			raw = gitstore.ZeroHash
		} else if len(c.Parents) > 1 && before != nil {
			v.merge(owner, h, c)
		}
		now, err := v.s.commitView(h)
		if err != nil {
			v.problem(t.name, err)
			before = nil
			continue
		}
		if h == start {
			clear(opened) // those are the parent's
		} else {
			for _, p := range now.list {
				if _, ok := opened[p.folder]; !ok && (before == nil || p.seq > len(before.list)) {
					opened[p.folder] = h
				}
			}
		}
		v.root(t, before, now)
		if before != nil {
			v.appended(t.name, before, now)
		}
		v.trailers(t, c, before, now)
		if err := v.purged(t, h, chain[0], c); err != nil {
			return nil, err
		}
		before = now
	}
	if !raw.IsZero() {
		v.problemf(t.name, raw.String()[:12], "git made this merge, and it was not completed")
	}
	return opened, nil
}

// chain lists the commits from head down by first parents, the newest first; of a fork to
// the one, before, that was looked at already; of what was merged, to any such one.
func (v *verifier) chain(t *Tape, head gitstore.Hash, merged bool) (chain []gitstore.Hash, before *commitView, err error) {
	start := t.start(head)
	shared := false
	for at := head; !at.IsZero(); {
		if err := v.ctx.Err(); err != nil {
			return nil, nil, err
		}
		known := v.seen[at] && shared
		if v.seen[at] && merged && !known {
			stretch, _, err := v.s.byGit(at)
			known = err == nil && len(stretch) == 0 // else it does not count as it is
		}
		if known {
			if before, err = v.s.commitView(at); err != nil {
				v.problem(t.name, err)
			}
			return chain, before, nil
		}
		v.seen[at] = true
		chain = append(chain, at)
		shared = shared || at == start
		c, err := v.s.git.Commit(at)
		if err != nil {
			v.problem(t.name, corruptObject(at, err))
			break
		}
		at = gitstore.ZeroHash
		if len(c.Parents) > 0 {
			at = c.Parents[0]
		}
	}
	return chain, nil, nil
}

// ownFrom is the index of the phase with which the entries begin that only a fork has.
func (v *verifier) ownFrom(t *Tape, head gitstore.Hash) (int, error) {
	if !t.IsFork() {
		return 0, nil
	}
	b, err := t.base(head)
	if err == nil {
		var base *commitView
		if base, err = v.s.commitView(b.start); err == nil {
			return len(base.list) - 1, nil
		}
	}
	if ctxErr := v.ctx.Err(); ctxErr != nil {
		return 0, ctxErr
	}
	v.problem(t.name, err)
	return 0, nil
}

// byGit looks at a commit that git made: a merge, or one on top of a merge whose tree does
// not count. It is returned if its own does not, so that it has to be completed.
func (v *verifier) byGit(t *Tape, h gitstore.Hash, c gitstore.Commit) (raw gitstore.Hash) {
	for _, theirs := range c.Parents[1:] {
		if err := v.merged(t, theirs); err != nil {
			v.problem(t.name, err)
		}
	}
	m, err := t.made(v.ctx, h, gitstore.HashObject)
	if err != nil {
		v.problemf(t.name, h.String()[:12], "what git has merged cannot be completed: %v", err)
		return raw
	}
	if m.raw {
		return h
	}
	return raw
}

// merge checks that a merge has what its parents give, and what was merged.
func (v *verifier) merge(t *Tape, h gitstore.Hash, c gitstore.Commit) {
	for _, theirs := range c.Parents[1:] {
		if err := v.merged(t, theirs); err != nil {
			v.problem(t.name, err)
			return
		}
	}
	if c.Trailer(trailerMerge) == mergeSummary {
		if err := v.summarized(h, c); err != nil {
			v.problem(t.name, err)
		}
		return
	}
	want, err := t.mergedTree(v.ctx, c)
	if err != nil {
		v.problemf(t.name, h.String()[:12], "the merge cannot be made again: %v", err)
	} else if want != c.Tree {
		v.problemf(t.name, h.String()[:12], "the merge is not what its parents give")
	}
}

// merged checks the history of a commit that was merged.
func (v *verifier) merged(t *Tape, theirs gitstore.Hash) error {
	name, err := v.s.nameAt(theirs)
	if err != nil {
		return err
	}
	f := v.s.forkHandle(name)
	if f == nil {
		f = t
	}
	_, err = v.historyFrom(f, theirs, true)
	return err
}

// summarized checks that a merge added one entry, which names what was merged.
func (v *verifier) summarized(h gitstore.Hash, c gitstore.Commit) error {
	ours, err := v.s.commitView(c.Parents[0])
	if err != nil {
		return err
	}
	now, err := v.s.commitView(h)
	if err != nil {
		return err
	}
	n, named := 0, false
	for e, err := range now.behind(v.ctx, ours, "") {
		if err != nil {
			return err
		}
		n++
		named = jsonl.GetString(e.Meta, "origin", "commit") == c.Parents[1].String()
	}
	if n != 1 || !named {
		return &CorruptError{File: h.String()[:12], Msg: "a merge with a summary has one entry, which names what was merged"}
	}
	return nil
}

// completes checks the commit behind what git made.
func (v *verifier) completes(t *Tape, raw, h gitstore.Hash, c gitstore.Commit) {
	m, err := t.made(v.ctx, raw, gitstore.HashObject)
	switch {
	case err != nil:
		v.problem(t.name, err)
	case c.Trailer(trailerDone) != raw.String() || c.Tree != m.b.tree():
		v.problemf(t.name, h.String()[:12], "the commit does not complete the merge %s, which git made", raw.String()[:12])
	}
}

// root checks the top of a commit's tree.
func (v *verifier) root(t *Tape, before, now *commitView) {
	tape := t.name
	for _, e := range now.root {
		if e.Name != tapeFile && e.Name != anchorsDir {
			v.problemf(tape, now.file(e.Name), "nothing but %s and %s belongs in a tape's commit", tapeFile, anchorsDir)
		}
	}
	info, ok := findEntry(now.root, tapeFile)
	if !ok {
		v.problemf(tape, now.file(""), "the commit has no %s", tapeFile)
		return
	}
	if before != nil {
		if was, ok := findEntry(before.root, tapeFile); ok && was.Hash == info.Hash {
			return
		}
		v.problemf(tape, now.file(tapeFile), "the file was changed")
	}
	raw, err := v.s.git.Blob(info.Hash)
	if err == nil {
		var decoded tapeInfo
		if decoded, err = decodeTapeInfo(raw, now.file(tapeFile)); err == nil && decoded.Name != tape && !strings.HasPrefix(tape, decoded.Name+"/") {
			v.problemf(tape, now.file(tapeFile), "it names the tape %q", decoded.Name)
		}
	}
	if err != nil {
		v.problem(tape, err)
	}
}

// appended checks that a commit only added to the one before.
func (v *verifier) appended(tape string, before, now *commitView) {
	for i, was := range before.list {
		if i >= len(now.list) || now.list[i].folder != was.folder {
			v.problemf(tape, now.where(was, ""), "the commit removed a phase")
			continue
		}
		is := now.list[i]
		if is.tree == was.tree {
			continue
		}
		old, err := before.tree(was)
		if err != nil {
			v.problem(tape, err)
			continue
		}
		entries, err := now.tree(is)
		if err != nil {
			v.problem(tape, err)
			continue
		}
		for _, e := range old {
			v.grown(tape, now, is, e, entries)
		}
	}
}

func (v *verifier) grown(tape string, now *commitView, p phase, was gitstore.TreeEntry, entries []gitstore.TreeEntry) {
	is, ok := findEntry(entries, was.Name)
	switch {
	case !ok:
		v.problemf(tape, now.where(p, was.Name), "the commit removed the file")
		return
	case is.Hash == was.Hash:
		return
	}
	old, err1 := v.s.git.Blob(was.Hash)
	data, err2 := v.s.git.Blob(is.Hash)
	if err := errors.Join(err1, err2); err != nil {
		v.problem(tape, corruptObject(now.commit, err))
		return
	}
	if !bytes.HasPrefix(data, old) {
		v.problem(tape, &CorruptError{File: now.where(p, was.Name), Line: firstDifference(data, old), Msg: "the commit changed what was recorded before"})
	}
}

// trailers checks what a commit's message says of it. Commits made by git alone say
// nothing.
func (v *verifier) trailers(t *Tape, c gitstore.Commit, before, now *commitView) {
	tape, where := t.name, now.commit.String()[:12]
	if name := decodeTrailer(c.Trailer(trailerName)); name != "" && !related(name, tape) {
		v.problemf(tape, where, "the trailer %s names the tape %q", trailerName, name)
	}
	entries := c.Trailer(trailerEntries)
	if entries == "" {
		return
	}
	var first int64 = 1
	if before != nil {
		last, err := lastID(before, before.list[len(before.list)-1])
		if err != nil {
			v.problem(tape, err)
			return
		}
		first = last + 1
	}
	last, err := lastID(now, now.list[len(now.list)-1])
	if err != nil {
		v.problem(tape, err)
		return
	}
	if want := fmt.Sprintf("%d-%d", first, last); entries != want {
		v.problemf(tape, where, "the trailer %s says %s, the commit has %s", trailerEntries, entries, want)
	}
}

// related reports whether a name is a tape's own, or that of a fork of it (git takes its
// commits over as they are where there is nothing to merge), or of what it is a fork of.
func related(name, tape string) bool {
	return name == tape || strings.HasPrefix(name, tape+"/") || strings.HasPrefix(tape, name+"/")
}
