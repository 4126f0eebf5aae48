package repo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tape/internal/gitstore"
)

// Tape is one session's append-only sequence of entries, or a fork of one. A Tape is a
// handle: it holds no lock and no open file, and its methods may be called from several
// goroutines.
type Tape struct {
	store  *Store
	name   string
	slug   string
	branch string // full ref
	fork   string // a fork's own name; its parent's is what comes before it in name
}

func (s *Store) handle(name string) *Tape {
	slug := tapeSlug(name)
	return &Tape{store: s, name: name, slug: slug, branch: branchPrefix + slug}
}

// Slug is the tape's name as git has it in its tags.
func (t *Tape) Slug() string { return t.slug }

// Ref is the full name of the branch that holds the tape.
func (t *Tape) Ref() string { return t.branch }

// Name is the tape's name; a fork's is PARENT/FORK.
func (t *Tape) Name() string { return t.name }

// Branch is the git branch that holds the tape, as git names it: tape/<slug>, or
// fork/<parent's slug>/<slug> for a fork.
func (t *Tape) Branch() string { return strings.TrimPrefix(t.branch, "refs/heads/") }

// Store is the workspace that the tape is in.
func (t *Tape) Store() *Store { return t.store }

// Tape returns the tape of a name, or the fork PARENT/FORK; "" means the current one.
// ErrNotFound if the workspace has none of that name.
func (s *Store) Tape(ctx context.Context, name string) (*Tape, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if name == "" {
		name = s.CurrentTape()
	}
	if err := checkName("a tape", name); err != nil {
		return nil, err
	}
	t := s.handle(name)
	_, err := t.head()
	if fork := s.forkHandle(name); fork != nil && errors.Is(err, ErrNotFound) {
		t = fork
		_, err = t.head()
	}
	if err != nil {
		return nil, err
	}
	if t.slug != name {
		// A slug with a hash: make sure that it is this name's.
		if owner, err := s.nameOfBranch(t.branch); err != nil || owner != name && owner != t.slug {
			return nil, errors.Join(err, conflict("give one of them another name",
				"the names %q and %q have the same slug", name, owner))
		}
	}
	return t, nil
}

// CurrentTape is the name of the tape that commands mean by default.
func (s *Store) CurrentTape() string {
	if s.config.Tape != "" {
		return s.config.Tape
	}
	if name, err := s.currentByHead(); err == nil {
		return name
	}
	return DefaultTape
}

// head is the tape's newest commit.
func (t *Tape) head() (gitstore.Hash, error) {
	h, err := t.store.git.Ref(t.branch)
	if errors.Is(err, gitstore.ErrNotFound) && t.IsFork() {
		return h, notFound("tape forks lists those that are open, tape forks --closed the others", "there is no tape and no open fork %q", t.name)
	}
	if errors.Is(err, gitstore.ErrNotFound) {
		return h, notFound("tape tapes lists them; tape new "+shellWord(t.name)+" creates it", "there is no tape %q", t.name)
	}
	return h, classify(err)
}

// shellWord makes a name safe to copy from a hint into a shell.
func shellWord(s string) string {
	plain := strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+=,-") == ""
	if plain && s != "" && s[0] != '-' {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// tapeInfo is tape.json.
type tapeInfo struct {
	Format  int    `json:"format"`
	Name    string `json:"name"`
	Created string `json:"created"`
}

func encodeTapeInfo(name string, created time.Time) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(tapeInfo{Format: FormatVersion, Name: name, Created: FormatDate(created)})
	return b.Bytes(), err
}

func decodeTapeInfo(raw []byte, file string) (tapeInfo, error) {
	var info tapeInfo
	if err := json.Unmarshal(raw, &info); err != nil {
		return info, &CorruptError{File: file, Msg: "not a JSON object: " + err.Error(), Fix: restoreTapeFile}
	}
	switch {
	case info.Format > FormatVersion:
		return info, &CorruptError{File: file, Msg: newerFormat(info.Format),
			Fix: "install a newer tape"}
	case info.Format < 1 || info.Name == "":
		return info, &CorruptError{File: file, Msg: "format or name is missing", Fix: restoreTapeFile}
	}
	return info, nil
}

func newerFormat(n int) string {
	return fmt.Sprintf("the tape has format %d; this program reads up to %d", n, FormatVersion)
}

// checkTapeFile refuses a working tree whose tape.json is damaged, or of a format that
// this program does not know. One that is just being written is not looked at.
func checkTapeFile(worktree string, u *undo) error {
	if u != nil && u.Checkout {
		return nil
	}
	path := filepath.Join(worktree, tapeFile)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &CorruptError{File: path, Msg: "the file is missing", Fix: restoreTapeFile}
	}
	if err != nil {
		return err
	}
	_, err = decodeTapeInfo(raw, path)
	return err
}

const restoreTapeFile = "bring it back with: git restore -- " + tapeFile

// nameOfBranch finds the name of a tape or fork: the newest commit's trailer says it, or
// tape.json. A branch that somebody made by hand is named after its slug.
func (s *Store) nameOfBranch(branch string) (string, error) {
	h, err := s.git.Ref(branch)
	if err != nil {
		return "", classify(err)
	}
	return s.nameOfBranchAt(branch, h)
}

// nameOfBranchAt is nameOfBranch of a branch whose newest commit is known.
func (s *Store) nameOfBranchAt(branch string, h gitstore.Hash) (string, error) {
	c, err := s.git.Commit(h)
	if err != nil {
		return "", &CorruptError{File: branch, Msg: err.Error()}
	}
	if name := decodeTrailer(c.Trailer(trailerName)); name != "" && branchOf(name, branch) == branch {
		return name, nil
	}
	if strings.HasPrefix(branch, forkPrefix) {
		return s.nameOfFork(branch, h)
	}
	root, err := s.git.Tree(c.Tree)
	if err != nil {
		return "", classify(err)
	}
	entry, ok := findEntry(root, tapeFile)
	if !ok {
		return "", &CorruptError{File: branch, Msg: "the branch has no " + tapeFile}
	}
	raw, err := s.git.Blob(entry.Hash)
	if err != nil {
		return "", classify(err)
	}
	info, err := decodeTapeInfo(raw, branch+":"+tapeFile)
	if slug := strings.TrimPrefix(branch, branchPrefix); tapeSlug(info.Name) != slug {
		return slug, err // a branch that somebody made by hand off another tape
	}
	return info.Name, err
}

// branchOf is the branch of a name, of the kind that like is: a tape's or a fork's.
func branchOf(name, like string) string {
	if !strings.HasPrefix(like, forkPrefix) {
		return branchPrefix + tapeSlug(name)
	}
	parent, fork, ok := cutFork(name)
	if !ok {
		return ""
	}
	return forkPrefix + tapeSlug(parent) + "/" + tapeSlug(fork)
}

// ByBranch returns the tape or fork of a branch, as git names it (refs/heads/ may be left
// out). ErrNotFound if it is none.
func (s *Store) ByBranch(ctx context.Context, branch string) (*Tape, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ref := "refs/heads/" + strings.TrimPrefix(branch, "refs/heads/")
	if !strings.HasPrefix(ref, branchPrefix) && !strings.HasPrefix(ref, forkPrefix) {
		return nil, notFound("tape tapes and tape forks list them", "%s is not the branch of a tape or a fork", branch)
	}
	t, err := s.tapeOfBranch(ref)
	if errors.Is(err, gitstore.ErrNotFound) {
		return nil, notFound("tape tapes and tape forks list them", "there is no branch %s", branch)
	}
	return t, classify(err)
}

// tapeOfBranch returns the handle of a branch.
func (s *Store) tapeOfBranch(branch string) (*Tape, error) {
	h, err := s.git.Ref(branch)
	if err != nil {
		return nil, classify(err)
	}
	return s.tapeOfBranchAt(branch, h)
}

// tapeOfBranchAt is tapeOfBranch of a branch whose newest commit is known.
func (s *Store) tapeOfBranchAt(branch string, h gitstore.Hash) (*Tape, error) {
	name, err := s.nameOfBranchAt(branch, h)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(branch, forkPrefix) {
		t := s.forkHandle(name)
		if t == nil {
			return nil, &CorruptError{File: branch, Msg: fmt.Sprintf("%q is not the name of a fork", name)}
		}
		t.branch = branch
		return t, nil
	}
	return &Tape{store: s, name: name, slug: strings.TrimPrefix(branch, branchPrefix), branch: branch}, nil
}

func findEntry(entries []gitstore.TreeEntry, name string) (gitstore.TreeEntry, bool) {
	for _, e := range entries {
		if e.Name == name {
			return e, true
		}
	}
	return gitstore.TreeEntry{}, false
}

// Tapes returns the workspace's tapes, sorted by branch. Forks are not among them.
func (s *Store) Tapes(ctx context.Context) ([]*Tape, error) { return s.tapesUnder(ctx, branchPrefix) }

// tapesAndForks returns all tapes, then all forks.
func (s *Store) tapesAndForks(ctx context.Context) ([]*Tape, error) {
	tapes, err := s.Tapes(ctx)
	if err != nil {
		return nil, err
	}
	forks, err := s.Forks(ctx)
	return append(tapes, forks...), err
}

func (s *Store) tapesUnder(ctx context.Context, prefix string) ([]*Tape, error) {
	refs, err := s.git.Refs(prefix)
	if err != nil {
		return nil, classify(err)
	}
	out := make([]*Tape, 0, len(refs))
	for _, ref := range refs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		t, err := s.tapeOfBranchAt(ref.Name, ref.Hash)
		if errors.Is(err, gitstore.ErrNotFound) {
			continue // gone since the listing
		}
		if errors.Is(err, ErrCorrupt) && strings.HasPrefix(ref.Name, forkPrefix) {
			s.warn("the branch " + strings.TrimPrefix(ref.Name, "refs/heads/") + " is left out: " + err.Error())
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list tapes: %w", err)
		}
		out = append(out, t)
	}
	return out, nil
}

// Switch makes a tape the current one. No file moves.
func (s *Store) Switch(ctx context.Context, name string) (*Tape, error) {
	t, err := s.Tape(ctx, name)
	if err != nil {
		return nil, err
	}
	return t, s.SetSetting("tape", name)
}

// WorkTree is the folder in which the tape is checked out, "" if there is none.
func (t *Tape) WorkTree() string {
	wt, _, err := t.worktree()
	if err != nil {
		return ""
	}
	return wt.Dir
}
