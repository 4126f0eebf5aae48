package workspace

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"tape/internal/store/layout"
)

// forgottenFile lists the sessions that were forgotten here: a line with a layout.ForgottenID for each. A
// line that begins with keptMark is one that was forgotten at a remote, and that the user keeps.
const (
	forgottenFile = "forgotten"
	forgottenLock = "forgotten.lock"
	keptMark      = "kept "
)

// Forgotten says which sessions were forgotten in a workspace.
type Forgotten struct{ lines map[string]bool }

// Forgotten reads which sessions were forgotten.
func (s *Store) Forgotten() (Forgotten, error) {
	raw, err := os.ReadFile(s.PrivatePath(forgottenFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Forgotten{}, nil
	}
	f := Forgotten{lines: map[string]bool{}}
	for line := range strings.Lines(string(raw)) {
		f.lines[strings.TrimSpace(line)] = true
	}
	return f, layout.Classify(err)
}

// Any reports whether any session was forgotten.
func (f Forgotten) Any() bool { return len(f.lines) > 0 }

// Has reports whether a tape, or one above it, was forgotten.
func (f Forgotten) Has(name string) bool {
	for up := name; len(f.lines) > 0; {
		if f.HasSlug(layout.TapeSlug(up)) {
			return true
		}
		i := strings.LastIndexByte(up, '/')
		if i < 0 {
			break
		}
		up = up[:i]
	}
	return false
}

// HasSlug reports whether the tape with a slug was forgotten.
func (f Forgotten) HasSlug(slug string) bool {
	return len(f.lines) > 0 && f.lines[layout.ForgottenID(slug)]
}

// HasID reports whether the tape with a layout.ForgottenID was forgotten, or is kept all the same.
func (f Forgotten) HasID(id string) bool { return f.lines[id] || f.lines[keptMark+id] }

// NoteForgotten adds tapes and forks, by their slugs, to those that were forgotten.
func (s *Store) NoteForgotten(ctx context.Context, slugs ...string) error {
	return s.changeForgotten(ctx, func(lines map[string]bool) {
		for _, slug := range slugs {
			lines[layout.ForgottenID(slug)] = true
		}
	})
}

// KeepForgotten notes that the user keeps a tape that was forgotten at a remote.
func (s *Store) KeepForgotten(ctx context.Context, name string) error {
	return s.changeForgotten(ctx, func(lines map[string]bool) {
		lines[keptMark+layout.ForgottenID(layout.TapeSlug(name))] = true
	})
}

// Remember takes a tape, and those above it, off the list again.
func (s *Store) Remember(ctx context.Context, name string) error {
	now, err := s.Forgotten()
	if err != nil || !now.Has(name) {
		return err
	}
	return s.changeForgotten(ctx, func(lines map[string]bool) {
		for up := name; ; {
			delete(lines, layout.ForgottenID(layout.TapeSlug(up)))
			i := strings.LastIndexByte(up, '/')
			if i < 0 {
				return
			}
			up = up[:i]
		}
	})
}

func (s *Store) changeForgotten(ctx context.Context, change func(lines map[string]bool)) error {
	unlock, err := s.LockPrivate(ctx, forgottenLock)
	if err != nil {
		return err
	}
	defer func() { _ = unlock() }()
	f, err := s.Forgotten()
	if err != nil {
		return err
	}
	was := maps.Clone(f.lines)
	if f.lines == nil {
		f.lines = map[string]bool{}
	}
	change(f.lines)
	if maps.Equal(was, f.lines) {
		return nil
	}
	text := strings.Join(slices.Sorted(maps.Keys(f.lines)), "\n")
	if text != "" {
		text += "\n"
	}
	return layout.Classify(s.fs.WriteFile(s.PrivatePath(forgottenFile), []byte(text)))
}
