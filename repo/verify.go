package repo

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tape/internal/gitstore"
)

// Report is what Verify found.
type Report struct {
	OK       bool
	Checked  Checked
	Problems []Problem
	GitFsck  bool // git was there, and git fsck was run
}

// Checked counts what Verify looked at.
type Checked struct {
	Tapes, Archives, Commits, Files int
	Entries                         int64
}

// Problem is one broken promise.
type Problem struct {
	Tape    string // "" for the workspace as a whole
	File    string // path, or commit:path
	Line    int    // 0: the file as a whole
	Message string
}

func (p Problem) String() string {
	where := p.File
	if p.Line > 0 {
		where = fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	if p.Tape != "" {
		where = strings.TrimSuffix(p.Tape+": "+where, ": ")
	}
	return strings.TrimPrefix(where+": "+p.Message, ": ")
}

// Verify checks everything that the format promises of the workspace: that history is
// append-only, that every entry can be read and none is missing, that commits,
// trailers, tags and working trees agree, and what git fsck checks. What an
// interrupted command left is completed first. The error is for a check that could
// not be made; what is broken is in the report.
func (s *Store) Verify(ctx context.Context) (*Report, error) {
	v := &verifier{ctx: ctx, s: s, report: &Report{}}
	refs, err := s.git.Refs(branchPrefix)
	if err != nil {
		v.problem("", &CorruptError{File: branchPrefix, Msg: err.Error()})
	}
	for _, ref := range refs {
		name, err := s.nameOfBranch(ref.Name)
		if err != nil {
			v.problem(strings.TrimPrefix(ref.Name, branchPrefix), err)
			continue
		}
		t := &Tape{store: s, name: name, slug: strings.TrimPrefix(ref.Name, branchPrefix), branch: ref.Name}
		if err := v.tape(t); err != nil {
			return nil, fmt.Errorf("verify tape %q: %w", name, err)
		}
	}
	if err := v.archives(); err != nil {
		return nil, fmt.Errorf("verify archives: %w", err)
	}
	if err := v.fsck(); err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	v.report.OK = len(v.report.Problems) == 0
	return v.report, nil
}

type verifier struct {
	ctx    context.Context
	s      *Store
	report *Report
}

// problem records an error; it keeps the place where a CorruptError has one.
func (v *verifier) problem(tape string, err error) {
	p := Problem{Tape: tape, Message: err.Error()}
	var c *CorruptError
	if errors.As(err, &c) {
		p.File, p.Line, p.Message = c.File, c.Line, c.Msg
		if rel, err := filepath.Rel(v.s.dir, c.File); err == nil && filepath.IsAbs(c.File) && filepath.IsLocal(rel) {
			p.File = filepath.ToSlash(rel)
		}
	}
	if !slices.Contains(v.report.Problems, p) {
		v.report.Problems = append(v.report.Problems, p)
	}
}

func (v *verifier) problemf(tape, file, format string, args ...any) {
	v.problem(tape, &CorruptError{File: file, Msg: fmt.Sprintf(format, args...)})
}

// tape checks one tape. It returns an error only when it could not be checked.
func (v *verifier) tape(t *Tape) error {
	v.report.Checked.Tapes++
	if err := v.settle(t); err != nil {
		return err
	}
	head, err := t.head()
	if err != nil {
		v.problem(t.name, err)
		return v.ctx.Err()
	}
	opened, err := v.history(t.name, head)
	if err != nil {
		return err
	}
	committed, err := v.s.commitView(head)
	if err != nil {
		v.problem(t.name, err)
		return nil
	}
	if err := v.content(t.name, committed, 0); err != nil {
		return err
	}
	v.tags(t, opened)
	return v.workingTree(t, committed)
}

// settle lets a writer put right what was interrupted.
func (v *verifier) settle(t *Tape) error {
	st, _ := t.peekState()
	_, _, err := t.worktree()
	if err != nil && st.Undo == nil {
		return nil // nothing but commits, and nothing under way
	}
	err = t.write(v.ctx, func(w *writer) error {
		made, err := t.ensureTags(v.ctx, w.head, true)
		if made {
			v.s.warn("a handoff of tape " + strconv.Quote(t.name) + " had lost its tag, which was made again")
		}
		return err
	})
	if errors.Is(err, ErrCorrupt) || errors.Is(err, ErrConflict) {
		v.problem(t.name, err)
		return nil
	}
	if errors.Is(err, os.ErrPermission) {
		return nil // a workspace that may only be read
	}
	return err
}

// history walks the first parents from the oldest commit on, and returns the commit
// that each phase came with, by folder.
func (v *verifier) history(tape string, head gitstore.Hash) (map[string]gitstore.Hash, error) {
	var chain []gitstore.Hash
	for at := head; !at.IsZero(); {
		if err := v.ctx.Err(); err != nil {
			return nil, err
		}
		chain = append(chain, at)
		c, err := v.s.git.Commit(at)
		if err != nil {
			v.problem(tape, corruptObject(at, err))
			break
		}
		at = gitstore.ZeroHash
		if len(c.Parents) > 0 {
			at = c.Parents[0]
		}
	}
	opened := map[string]gitstore.Hash{}
	var before *commitView
	for _, h := range slices.Backward(chain) {
		if err := v.ctx.Err(); err != nil {
			return nil, err
		}
		v.report.Checked.Commits++
		now, err := v.s.commitView(h)
		if err != nil {
			v.problem(tape, err)
			before = nil
			continue
		}
		for _, p := range now.list {
			if _, ok := opened[p.folder]; !ok {
				opened[p.folder] = h
			}
		}
		v.root(tape, before, now)
		if before != nil {
			v.appended(tape, before, now)
		}
		v.trailers(tape, before, now)
		before = now
	}
	return opened, nil
}

// root checks the top of a commit's tree.
func (v *verifier) root(tape string, before, now *commitView) {
	for _, e := range now.root {
		if e.Name != tapeFile && e.Name != anchorsDir {
			v.problemf(tape, now.commit.String()[:12]+":"+e.Name, "nothing but %s and %s belongs in a tape's commit", tapeFile, anchorsDir)
		}
	}
	info, ok := findEntry(now.root, tapeFile)
	if !ok {
		v.problemf(tape, now.commit.String()[:12], "the commit has no %s", tapeFile)
		return
	}
	if before != nil {
		if was, ok := findEntry(before.root, tapeFile); ok && was.Hash == info.Hash {
			return
		}
		v.problemf(tape, now.commit.String()[:12]+":"+tapeFile, "the file was changed")
	}
	raw, err := v.s.git.Blob(info.Hash)
	if err == nil {
		var decoded tapeInfo
		if decoded, err = decodeTapeInfo(raw, now.commit.String()[:12]+":"+tapeFile); err == nil && decoded.Name != tape {
			v.problemf(tape, now.commit.String()[:12]+":"+tapeFile, "it names the tape %q", decoded.Name)
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
func (v *verifier) trailers(tape string, before, now *commitView) {
	c, err := v.s.git.Commit(now.commit)
	if err != nil {
		return
	}
	where := now.commit.String()[:12]
	if name := c.Trailer(trailerName); name != "" && decodeTrailer(name) != tape {
		v.problemf(tape, where, "the trailer %s names the tape %q", trailerName, decodeTrailer(name))
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

// tags checks that each handoff has its annotated tag, and that there are no others.
func (v *verifier) tags(t *Tape, opened map[string]gitstore.Hash) {
	prefix := tagPrefix + t.slug + "/"
	refs, err := v.s.git.Refs(prefix)
	if err != nil {
		v.problem(t.name, &CorruptError{File: prefix, Msg: err.Error()})
		return
	}
	found := map[string]bool{}
	for _, ref := range refs {
		folder := strings.TrimPrefix(ref.Name, prefix)
		found[folder] = true
		want, ok := opened[folder]
		tag, err := v.s.git.Tag(ref.Hash)
		switch {
		case !ok:
			v.problemf(t.name, ref.Name, "the tape has no such phase")
		case err != nil:
			v.problemf(t.name, ref.Name, "not an annotated tag: %v", err)
		case tag.Object != want:
			v.problemf(t.name, ref.Name, "the tag names %s, the phase came with %s", tag.Object.String()[:12], want.String()[:12])
		case "refs/tags/"+tag.Name != ref.Name:
			v.problemf(t.name, ref.Name, "the tag calls itself %q", tag.Name)
		}
	}
	for folder, commit := range opened {
		if !found[folder] {
			v.problemf(t.name, prefix+folder, "the tag of commit %s is missing", commit.String()[:12])
		}
	}
}

// archives checks the former histories of tapes.
func (v *verifier) archives() error {
	refs, err := v.s.git.Refs(archivePrefix)
	if err != nil {
		v.problem("", &CorruptError{File: archivePrefix, Msg: err.Error()})
		return nil
	}
	for _, ref := range refs {
		v.report.Checked.Archives++
		name := ref.Name
		if c, err := v.s.git.Commit(ref.Hash); err == nil {
			if trailer := decodeTrailer(c.Trailer(trailerName)); trailer != "" {
				name = trailer
			}
		}
		if _, err := v.history(name, ref.Hash); err != nil {
			return err
		}
		if look, err := v.s.commitView(ref.Hash); err != nil {
			v.problem(name, err)
		} else if err := v.content(name, look, 0); err != nil {
			return err
		}
	}
	return nil
}

// fsck lets git check its own structures, where git is installed.
func (v *verifier) fsck() error {
	path, err := exec.LookPath("git")
	if err != nil {
		return nil
	}
	v.report.GitFsck = true
	cmd := exec.CommandContext(v.ctx, path, "--git-dir="+v.s.git.GitDir(), "fsck", "--strict", "--full", "--no-dangling", "--no-progress")
	cmd.Env = append(os.Environ(), "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	runErr := cmd.Run()
	if err := v.ctx.Err(); err != nil {
		return err
	}
	if runErr == nil {
		return nil
	}
	lines := bufio.NewScanner(io.LimitReader(&out, 1<<20))
	count := 0
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); line != "" && !strings.HasPrefix(line, "notice:") {
			v.problem("", &CorruptError{File: "git fsck", Msg: line})
			count++
		}
	}
	if count == 0 {
		v.problem("", &CorruptError{File: "git fsck", Msg: runErr.Error()})
	}
	return nil
}
