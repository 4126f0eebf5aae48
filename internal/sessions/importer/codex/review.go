package codex

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"

	"tape/internal/sessions/importer/record"
)

// review reads from Codex's settings whether a person reviewed our hooks. It never writes that: a
// program must not approve what a person has to approve.
func review(settings map[string]any, file string, hooks []record.Hook) record.Trust {
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		real = file
	}
	out := record.Reviewed
	for _, h := range hooks {
		key := fmt.Sprintf(":%s:%d:%d", snake(h.Event), h.Group, h.Number)
		state, ok := record.Setting(settings, "hooks", "state", file+key).(map[string]any)
		if !ok {
			state, _ = record.Setting(settings, "hooks", "state", real+key).(map[string]any)
		}
		switch hash, _ := state["trusted_hash"].(string); {
		case hash == "":
			return record.NotReviewed
		case state["enabled"] == false:
			return record.SwitchedOff
		case hash != reviewHash(h):
			out = record.Changed
		}
	}
	return out
}

// reviewHash returns the hash that Codex stores when a person reviews a hook.
func reviewHash(h record.Hook) string {
	timeout := h.Timeout
	switch {
	case h.Event == "SessionEnd" || h.Event == "Interrupt": // Codex gives these little time
		timeout = min(max(timeout, 1), interruptTimeout)
	case timeout == 0:
		timeout = 600
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(record.JSON(map[string]any{ // maps are written in the order of keys
		"event_name": snake(h.Event),
		"hooks":      []any{map[string]any{"async": false, "command": h.Command, "timeout": timeout, "type": h.Type}},
	})))
}

func snake(event string) string {
	var out strings.Builder
	for i, r := range event {
		if unicode.IsUpper(r) && i > 0 {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}
