package repo

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
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
	Tapes, Forks, Archives, Commits, Files int
	Entries                                int64
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
	v := &verifier{s: s, report: &Report{}}
	v.audit = s.newAudit(policy{compare: true, found: v.problem})
	for _, t := range v.tapes() {
		if err := v.tape(ctx, t); err != nil {
			return nil, fmt.Errorf("verify tape %q: %w", t.name, err)
		}
	}
	if err := v.archives(ctx); err != nil {
		return nil, fmt.Errorf("verify archives: %w", err)
	}
	if err := v.fsck(ctx); err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	v.report.Checked.Commits = v.audit.commits
	v.report.OK = len(v.report.Problems) == 0
	return v.report, nil
}

// verifier trusts the workspace, and collects what is wrong with it.
type verifier struct {
	s      *Store
	audit  *audit // of all histories
	report *Report
}

// tapes lists tapes and forks, each behind what it is a fork of.
func (v *verifier) tapes() (out []*Tape) {
	for _, prefix := range []string{branchPrefix, forkPrefix} {
		refs, err := v.s.git.Refs(prefix)
		if err != nil {
			v.problem("", &CorruptError{File: prefix, Msg: err.Error()})
		}
		var list []*Tape
		for _, ref := range refs {
			t, err := v.s.tapeOfBranch(ref.Name)
			if err != nil {
				v.problem(strings.TrimPrefix(ref.Name, prefix), err)
				continue
			}
			list = append(list, t)
		}
		slices.SortStableFunc(list, func(a, b *Tape) int { return strings.Compare(a.name, b.name) })
		out = append(out, list...)
	}
	return out
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
func (v *verifier) tape(ctx context.Context, t *Tape) error {
	if t.IsFork() {
		v.report.Checked.Forks++
	} else {
		v.report.Checked.Tapes++
	}
	if err := v.settle(ctx, t); err != nil {
		return err
	}
	head, err := t.head()
	if err != nil {
		v.problem(t.name, err)
		return ctx.Err()
	}
	if err := v.audit.history(ctx, t, head); err != nil {
		return err
	}
	committed, err := v.s.commitView(head)
	if err != nil {
		v.problem(t.name, err)
		return nil
	}
	if err := v.tags(ctx, t, head); err != nil {
		return err
	}
	from, err := t.ownFrom(head)
	if err != nil {
		v.problem(t.name, err)
	}
	v.count(committed, from)
	return v.workingTree(ctx, t, committed)
}

// ownFrom is the index of the phase with which the entries begin that only a fork has.
func (t *Tape) ownFrom(head gitstore.Hash) (int, error) {
	if !t.IsFork() {
		return 0, nil
	}
	b, err := t.base(head)
	if err != nil {
		return 0, err
	}
	base, err := t.store.commitView(b.start)
	if err != nil {
		return 0, err
	}
	return len(base.list) - 1, nil
}

// count counts what a commit has from the phase of an index on. What cannot be read was
// found by the audit.
func (v *verifier) count(look *snapshot, from int) {
	for _, p := range look.list[from:] {
		files, err := look.tree(p)
		if err != nil {
			return
		}
		v.report.Checked.Files += len(files)
	}
	first, err1 := readAnchor(look, look.list[from], "")
	last, err2 := look.lastID()
	if err1 == nil && err2 == nil {
		v.report.Checked.Entries += last - first.ID + 1
	}
}

// settle lets a writer put right what was interrupted.
func (v *verifier) settle(ctx context.Context, t *Tape) error {
	st, _ := t.peekState()
	err := t.Complete(ctx)
	if _, _, treeErr := t.worktree(); err == nil && treeErr != nil && st.Undo == nil {
		return nil // nothing but commits, and nothing under way
	}
	if err == nil {
		err = t.write(ctx, func(w *writer) error {
			made, err := t.ensureTags(ctx, w.head, true)
			if made {
				v.s.warn("a handoff of tape " + strconv.Quote(t.name) + " had lost its tag, which was made again")
			}
			return err
		})
	}
	if errors.Is(err, ErrCorrupt) || errors.Is(err, ErrConflict) {
		v.problem(t.name, err)
		return nil
	}
	if errors.Is(err, os.ErrPermission) {
		return nil // a workspace that may only be read
	}
	return err
}

// tags checks that each handoff has its annotated tag, and that there are no others.
func (v *verifier) tags(ctx context.Context, t *Tape, head gitstore.Hash) error {
	opened, err := v.opened(ctx, t, head)
	if err != nil {
		return ctx.Err() // the audit has found what is missing
	}
	prefix := tagPrefix + t.slug + "/"
	refs, err := v.s.git.Refs(prefix)
	if err != nil {
		v.problem(t.name, &CorruptError{File: prefix, Msg: err.Error()})
		return nil
	}
	for _, ref := range refs {
		folder := strings.TrimPrefix(ref.Name, prefix)
		want, ok := opened[folder]
		delete(opened, folder)
		tag, err := v.audit.readTag(ref.Name, ref.Hash)
		switch {
		case !ok && err == nil && v.isAhead(t, tag.Object):
		case !ok:
			v.problemf(t.name, ref.Name, "the tape has no such phase")
		case err != nil:
			v.problemf(t.name, ref.Name, "%v", err)
		case tag.Object != want:
			v.problemf(t.name, ref.Name, "the tag names %s, the phase came with %s", short(tag.Object), short(want))
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(opened)) {
		v.problemf(t.name, prefix+folder, "the tag of commit %s is missing", short(opened[folder]))
	}
	return nil
}

// opened maps the folders of a tape's phases to the commits that they came with; of a fork,
// those of its own.
func (v *verifier) opened(ctx context.Context, t *Tape, head gitstore.Hash) (map[string]gitstore.Hash, error) {
	chain, err := v.s.firstParents(ctx, head)
	if err != nil {
		return nil, err
	}
	out, start := map[string]gitstore.Hash{}, t.start(head)
	for _, h := range chain {
		if h == start {
			break
		}
		for _, folder := range v.audit.opened[h] {
			out[folder] = h
		}
	}
	return out, nil
}

// isAhead reports whether a commit is one of a remote's that the tape does not have yet: git
// brings tags along with what it fetches.
func (v *verifier) isAhead(t *Tape, h gitstore.Hash) bool {
	head, err := t.head()
	if err != nil {
		return false
	}
	if has, err := v.s.contains(head, h); err != nil || has {
		return false
	}
	for _, prefix := range remoteRefs() {
		refs, err := v.s.git.Refs(prefix)
		if err != nil {
			return false
		}
		for _, ref := range refs {
			if !strings.HasSuffix(ref.Name, "/"+t.Branch()) {
				continue
			}
			if ok, err := v.s.contains(ref.Hash, h); err == nil && ok {
				return true
			}
		}
	}
	return false
}

// archives checks the former histories of tapes.
func (v *verifier) archives(ctx context.Context) error {
	refs, err := v.s.git.Refs(archivePrefix)
	if err != nil {
		v.problem("", &CorruptError{File: archivePrefix, Msg: err.Error()})
		return nil
	}
	for _, ref := range refs {
		v.report.Checked.Archives++
		name := ref.Name
		if recorded, err := v.s.nameAt(ref.Hash); err == nil && recorded != "" {
			name = recorded
		}
		if err := v.audit.history(ctx, v.s.handle(name), ref.Hash); err != nil {
			return err
		}
		if look, err := v.s.commitView(ref.Hash); err != nil {
			v.problem(name, err)
		} else {
			v.count(look, 0)
		}
	}
	return nil
}

// fsck lets git check its own structures, where git is installed. Beside somebody who commits
// it sees things that it did not see when it listed what there is, so what it says counts if
// it says so twice.
func (v *verifier) fsck(ctx context.Context) error {
	path, err := exec.LookPath("git")
	if err != nil {
		return nil
	}
	v.report.GitFsck = true
	said, err := v.runFsck(ctx, path)
	if err == nil && len(said) > 0 {
		var again []string
		again, err = v.runFsck(ctx, path)
		said = slices.DeleteFunc(said, func(line string) bool { return !slices.Contains(again, line) })
	}
	for _, line := range said {
		v.problem("", &CorruptError{File: "git fsck", Msg: line})
	}
	return err
}

// runFsck returns what git fsck complains of.
func (v *verifier) runFsck(ctx context.Context, path string) (said []string, err error) {
	cmd := exec.CommandContext(ctx, path, "--git-dir="+v.s.git.GitDir(), "fsck", "--strict", "--full", "--no-dangling", "--no-progress")
	cmd.Env = append(os.Environ(), "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	runErr := cmd.Run()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if runErr == nil {
		return nil, nil
	}
	lines := bufio.NewScanner(io.LimitReader(&out, 1<<20))
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); line != "" && !strings.HasPrefix(line, "notice:") {
			said = append(said, line)
		}
	}
	if len(said) == 0 {
		said = append(said, runErr.Error())
	}
	return said, nil
}
