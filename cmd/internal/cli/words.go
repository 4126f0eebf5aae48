package cli

import (
	"time"

	"tape/internal/show/display"
)

// How numbers, names and entries stand in sentences.

func quoted(name string) string { return display.Quoted(name) }

// shellWord makes a name safe to show, and to copy from a hint into a shell.
func shellWord(s string) string { return display.ShellWord(s) }

func shortID(commit string) string { return display.ShortID(commit) }

// ago shows when something happened as people say it, and a date when that is long gone.
func (a *App) ago(date string) string { return display.Ago(a.Now(), date, time.DateOnly) }

// briefly is ago in a few cells, for lists.
func (a *App) briefly(t time.Time) string { return display.Briefly(a.Now(), t) }
