// Package forgotten keeps the list of sessions that were forgotten in a workspace: imports, recording and pulls
// leave them out.
package forgotten

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

// The file fileName has a line with a layout.ForgottenID for each session. A line that begins with keptMark names
// a session that was forgotten at a remote, and that the user keeps.
const (
	fileName = "forgotten"
	lockName = "forgotten.lock"
	keptMark = "kept "
)

// List says which sessions were forgotten in a workspace.
type List struct{ lines map[string]bool }

// Read reads which sessions were forgotten.
func Read(s *workspace.Store) (List, error) {
	raw, err := os.ReadFile(s.PrivatePath(fileName))
	if errors.Is(err, fs.ErrNotExist) {
		return List{}, nil
	}
	f := List{lines: map[string]bool{}}
	for line := range strings.Lines(string(raw)) {
		f.lines[strings.TrimSpace(line)] = true
	}
	return f, layout.Classify(err)
}

// Any reports whether the list has any session, forgotten or kept.
func (f List) Any() bool { return len(f.lines) > 0 }

// Has reports whether a tape, or one of its ancestors, was forgotten.
func (f List) Has(name string) bool {
	for up, ok := name, len(f.lines) > 0; ok; up, _, ok = layout.CutFork(up) {
		if f.HasSlug(layout.TapeSlug(up)) {
			return true
		}
	}
	return false
}

// HasSlug reports whether the tape with a slug was forgotten.
func (f List) HasSlug(slug string) bool {
	return len(f.lines) > 0 && f.lines[layout.ForgottenID(slug)]
}

// HasID reports whether the list has a layout.ForgottenID, forgotten or kept.
func (f List) HasID(id string) bool { return f.lines[id] || f.lines[keptMark+id] }

// Add adds tapes and forks, by their slugs, to the list as forgotten.
func Add(ctx context.Context, s *workspace.Store, slugs ...string) error {
	return change(ctx, s, func(lines map[string]bool) {
		for _, slug := range slugs {
			lines[layout.ForgottenID(slug)] = true
		}
	})
}

// Keep notes that the user keeps a tape that was forgotten at a remote.
func Keep(ctx context.Context, s *workspace.Store, name string) error {
	return change(ctx, s, func(lines map[string]bool) {
		lines[keptMark+layout.ForgottenID(layout.TapeSlug(name))] = true
	})
}

// Unforget removes a tape and its ancestors from those that were forgotten.
func Unforget(ctx context.Context, s *workspace.Store, name string) error {
	now, err := Read(s)
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
	unlock, err := s.LockPrivate(ctx, lockName)
	if err != nil {
		return err
	}
	defer func() { _ = unlock() }()
	f, err := Read(s)
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
	return layout.Classify(s.FS().WriteFile(s.PrivatePath(fileName), []byte(text)))
}

// Check returns ErrConflict if a tape that is to be made was forgotten. Forgetting a tape takes the locks under which
// tapes are made, so the answer holds until the caller releases its lock.
func Check(t *workspace.Tape) error {
	list, err := Read(t.Store())
	if err == nil && list.Has(t.Name()) {
		err = layout.Conflict("", "the session %q was forgotten here", t.Name()).Try(layout.BeginAgain, t.Name())
	}
	return err
}
