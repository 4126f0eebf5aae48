package cli

import (
	"time"

	"tape/cmd/internal/stdio"
	"tape/internal/show/display"
)

// Short names for the JSON and the lists that commands write.
type (
	object         = stdio.Object
	member         = stdio.Member
	listing[T any] = stdio.Listing[T]
)

func objects[T any](items []T, describe func(T) object) []object {
	return stdio.Objects(items, describe)
}
func orNull[T comparable](value T) any { return stdio.OrNull(value) }
func marshal(v any) []byte             { return stdio.Marshal(v) }
func dateOrNull(t time.Time) any       { return stdio.DateOrNull(t) }

// How names and dates are written in sentences.

func quoted(name string) string { return display.Quoted(name) }

// shellWord makes a name safe to show, and to copy into a shell.
func shellWord(s string) string { return display.ShellWord(s) }

func shortID(commit string) string { return display.ShortID(commit) }

// ago returns "5 minutes ago", or after two weeks the date.
func (a *App) ago(date string) string { return display.Ago(a.Now(), date, time.DateOnly) }

// briefly returns ago in a few cells, for lists.
func (a *App) briefly(t time.Time) string { return display.Briefly(a.Now(), t) }
