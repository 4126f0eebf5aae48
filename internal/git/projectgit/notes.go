package projectgit

import (
	"context"
	"errors"
	"strings"
)

// NotesRef is the ref with the notes that name the sessions behind commits. It is the only thing that this package writes,
// and only when a person asks for it.
const NotesRef = "refs/notes/tape"

// Note is the note of a commit.
type Note struct{ Commit, Text string }

// AddNotes writes notes, in place of those that the commits had under the same ref, and returns how many are new or
// different. Nothing else in the repository changes.
func (r Repo) AddNotes(ctx context.Context, notes []Note) (written int, err error) {
	if err := r.checkNotes(ctx); err != nil {
		return 0, err
	}
	for _, n := range notes {
		was, err := r.notes(ctx, "show", n.Commit)
		if err == nil && strings.TrimSpace(string(was)) == strings.TrimSpace(n.Text) {
			continue
		}
		if _, err := r.notes(ctx, "add", "--force", "--message="+n.Text, n.Commit); err != nil {
			return written, err
		}
		written++
	}
	return written, nil
}

// RemoveNotes removes the notes of commits, and returns how many there were.
func (r Repo) RemoveNotes(ctx context.Context, commits []string) (removed int, err error) {
	if err := r.checkNotes(ctx); err != nil {
		return 0, err
	}
	for _, commit := range commits {
		if _, err := r.notes(ctx, "show", commit); err != nil {
			continue // it has none
		}
		if _, err := r.notes(ctx, "remove", commit); err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}

// DropNotes removes all notes with their ref, and returns how many there were.
func (r Repo) DropNotes(ctx context.Context) (removed int, err error) {
	if err := r.checkNotes(ctx); err != nil {
		return 0, err
	}
	list, err := r.notes(ctx, "list")
	if err != nil {
		return 0, err
	}
	if _, err := run(ctx, r.Top, nil, "rev-parse", "--verify", "--quiet", NotesRef); err != nil {
		return 0, nil //nolint:nilerr // there is no such ref
	}
	_, err = run(ctx, r.Top, nil, "update-ref", "--no-deref", "-d", NotesRef)
	return strings.Count(string(list), "\n"), err
}

// errElsewhere is the error for a ref of notes that stands for another one, such as a branch.
var errElsewhere = errors.New(NotesRef + " is a symbolic ref: it stands for another ref, which is not changed; git symbolic-ref --delete " + NotesRef + " removes it")

func (r Repo) checkNotes(ctx context.Context) error {
	if out, err := run(ctx, r.Top, nil, "symbolic-ref", "--quiet", NotesRef); err == nil && len(out) > 0 {
		return errElsewhere
	}
	return nil
}

func (r Repo) notes(ctx context.Context, args ...string) ([]byte, error) {
	return run(ctx, r.Top, nil, append([]string{"notes", "--ref=" + NotesRef}, args...)...)
}
