//go:build unix

package agentstest

import (
	"fmt"
	"time"

	"tape/cmd/internal/agentstest/model"
)

// cline is one that goes on with a session in a terminal only: here each prompt is a session.
func cline() agent {
	return agent{
		name: "cline", program: "cline", files: found, awake: 6 * time.Second,
		cases: []string{"tools", "long answer", "subagent", "two at once", "full disk", "mcp", "uninstall"},
		env: func(*box) []string {
			return []string{"CLINE_NO_AUTO_UPDATE=1", "CLINE_TELEMETRY_DISABLED=1", "DO_NOT_TRACK=1",
				"CLINE_SESSION_BACKEND_MODE=local"} // otherwise it leaves a server running
		},
		rewrites: ".cline/data/settings/providers.json",
		settings: func(b *box) map[string]string {
			return map[string]string{".cline/data/settings/providers.json": fmt.Sprintf(`{
  "version": 1,
  "lastUsedProvider": "openai-compatible",
  "modes": {},
  "providers": {"openai-compatible": {
    "settings": {"provider": "openai-compatible", "apiKey": "none", "model": "one", "baseUrl": "%s/v1"},
    "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"
  }}
}
`, b.model.URL)}
		},
		run: func(prompt string, _ bool) []string { return []string{prompt} },
		call: func(c model.Call, _ []model.Item) (string, any) {
			switch c.Tool {
			case model.Shell:
				return "run_commands", args{"commands": []string{c.Arg}}
			case model.Agent:
				return "spawn_agent", args{"systemPrompt": "You count files.", "task": c.Arg}
			}
			return mcp("tape__", c)
		},
		subagent: helper(nil, model.Step{Text: "There are two files."}),
	}
}
