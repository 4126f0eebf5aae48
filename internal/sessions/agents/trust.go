package agents

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/pelletier/go-toml/v2"
)

// trust reads from Codex's own record whether our hooks were reviewed. It is never written:
// what a person has to approve, a program must not.
func trust(found []place, w Where) Trust {
	user := Where{Home: w.Home, Getenv: w.Getenv}
	raw, err := os.ReadFile(user.MCPFile(Codex))
	if err != nil {
		return NotReviewed
	}
	var c struct {
		Hooks struct {
			State map[string]struct {
				Hash    string `toml:"trusted_hash"`
				Enabled *bool  `toml:"enabled"`
			} `toml:"state"`
		} `toml:"hooks"`
	}
	_ = toml.Unmarshal(bytes.TrimPrefix(raw, []byte(byteOrderMark)), &c) // without a record, nothing was reviewed
	file := w.HooksFile(Codex)
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		real = file
	}
	out := Reviewed
	for _, p := range found {
		key := fmt.Sprintf(":%s:%d:%d", snake(p.event), p.group, p.hook)
		state, ok := c.Hooks.State[file+key]
		if !ok {
			state = c.Hooks.State[real+key]
		}
		switch {
		case state.Hash == "":
			return NotReviewed
		case state.Enabled != nil && !*state.Enabled:
			return "switched off"
		case state.Hash != trustHash(p):
			out = Changed
		}
	}
	return out
}

// trustHash is what Codex knows a reviewed hook by: a hash of what it says.
func trustHash(p place) string {
	timeout := p.handler.Timeout
	switch {
	case p.event == "SessionEnd" || p.event == "Interrupt": // Codex gives these little time
		timeout = min(max(timeout, 1), 3)
	case timeout == 0:
		timeout = 600
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(map[string]any{"event_name": snake(p.event), "hooks": []any{ // maps are written in the order of keys
		map[string]any{"async": false, "command": p.handler.Command, "timeout": timeout, "type": p.handler.Type},
	}})
	return fmt.Sprintf("sha256:%x", sha256.Sum256(bytes.TrimSpace(text.Bytes())))
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
