package projects

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"tape/internal/store/layout"
	"tape/internal/store/workspace"
)

// The file forgottenFile has a line with a layout.ForgottenID for each session. A line that begins with keptMark names
// a session that was forgotten at a remote, and that the user keeps.
const (
	forgottenFile = "forgotten"
	forgottenLock = "forgotten.lock"
	keptMark      = "kept "
)

// ForgottenList says which sessions were forgotten in a workspace.
type ForgottenList struct{ lines map[string]bool }

// ReadForgotten reads which sessions were forgotten.
func ReadForgotten(s *workspace.Store) (ForgottenList, error) {
	raw, err := os.ReadFile(s.PrivatePath(forgottenFile))
	if errors.Is(err, fs.ErrNotExist) {
		return ForgottenList{}, nil
	}
	f := ForgottenList{lines: map[string]bool{}}
	for line := range strings.Lines(string(raw)) {
		f.lines[strings.TrimSpace(line)] = true
	}
	return f, layout.Classify(err)
}

// Any reports whether the list has any session, forgotten or kept.
func (f ForgottenList) Any() bool { return len(f.lines) > 0 }

// Has reports whether a tape, or one of its ancestors, was forgotten.
func (f ForgottenList) Has(name string) bool {
	for up, ok := name, len(f.lines) > 0; ok; up, _, ok = layout.CutFork(up) {
		if f.HasSlug(layout.TapeSlug(up)) {
			return true
		}
	}
	return false
}

// HasSlug reports whether the tape with a slug was forgotten.
func (f ForgottenList) HasSlug(slug string) bool {
	return len(f.lines) > 0 && f.lines[layout.ForgottenID(slug)]
}

// HasID reports whether the list has a layout.ForgottenID, forgotten or kept.
func (f ForgottenList) HasID(id string) bool { return f.lines[id] || f.lines[keptMark+id] }

// AddForgotten adds tapes and forks, by their slugs, to the list as forgotten.
func AddForgotten(ctx context.Context, s *workspace.Store, slugs ...string) error {
	return change(ctx, s, func(lines map[string]bool) {
		for _, slug := range slugs {
			lines[layout.ForgottenID(slug)] = true
		}
	})
}

// KeepForgotten notes that the user keeps a tape that was forgotten at a remote.
func KeepForgotten(ctx context.Context, s *workspace.Store, name string) error {
	return change(ctx, s, func(lines map[string]bool) {
		lines[keptMark+layout.ForgottenID(layout.TapeSlug(name))] = true
	})
}

// Unforget removes a tape and its ancestors from those that were forgotten.
func Unforget(ctx context.Context, s *workspace.Store, name string) error {
	now, err := ReadForgotten(s)
	if err != nil || !now.Has(name) {
		return err
	}
	return change(ctx, s, func(lines map[string]bool) {
		for up, ok := name, true; ok; up, _, ok = layout.CutFork(up) {
			delete(lines, layout.ForgottenID(layout.TapeSlug(up)))
		}
	})
}

func change(ctx context.Context, s *workspace.Store, edit func(lines map[string]bool)) error {
	unlock, err := s.LockPrivate(ctx, forgottenLock)
	if err != nil {
		return err
	}
	defer func() { _ = unlock() }()
	f, err := ReadForgotten(s)
	if err != nil {
		return err
	}
	was := maps.Clone(f.lines)
	if f.lines == nil {
		f.lines = map[string]bool{}
	}
	edit(f.lines)
	if maps.Equal(was, f.lines) {
		return nil
	}
	text := strings.Join(slices.Sorted(maps.Keys(f.lines)), "\n")
	if text != "" {
		text += "\n"
	}
	return layout.Classify(s.FS().WriteFile(s.PrivatePath(forgottenFile), []byte(text)))
}

// CheckForgotten returns ErrConflict if a tape that is to be made was forgotten. Forgetting a tape takes the locks under which
// tapes are made, so the answer holds until the caller releases its lock.
func CheckForgotten(t *workspace.Tape) error {
	list, err := ReadForgotten(t.Store())
	if err == nil && list.Has(t.Name()) {
		err = layout.Conflict("", "the session %q was forgotten here", t.Name()).Try(layout.BeginAgain, t.Name())
	}
	return err
}
