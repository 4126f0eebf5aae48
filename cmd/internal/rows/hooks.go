package rows

import (
	"time"

	"tape/cmd/internal/stdio"
	"tape/internal/show/display"
)

// HookLine is a line of the list of hooks: one plugin's part in one hook.
type HookLine struct {
	Hook      string        `json:"hook"`
	Plugin    string        `json:"plugin"`
	Calls     int           `json:"calls"`
	Failures  int           `json:"failures"`
	LastError string        `json:"last_error,omitempty"`
	Status    string        `json:"status,omitempty"`
	Mean      time.Duration `json:"mean_ns"`
}

// HookLines lists hooks, each with its plugins in the order in which they are called.
func HookLines(a *stdio.Streams, lines []HookLine) error {
	for i, l := range lines {
		if a.JSON {
			if err := a.Emit(l); err != nil {
				return err
			}
			continue
		}
		if i == 0 || lines[i-1].Hook != l.Hook {
			a.Line(l.Hook)
		}
		text := "  " + display.Line(l.Plugin)
		if l.Status != "" {
			text += "  " + display.Line(l.Status)
		}
		if l.Calls > 0 {
			text += "  " + display.Count(l.Calls, "call", "calls") + ", " + l.Mean.Round(time.Microsecond).String()
		}
		if l.Failures > 0 {
			text += ", " + display.Count(l.Failures, "failure", "failures") + ": " + display.Line(l.LastError)
		}
		a.Line(text)
	}
	return nil
}
