//go:build unix && extra

package agentstest

import (
	"fmt"
	"time"

	"tape/cmd/internal/agentstest/model"
)

func qwen() agent {
	return agent{
		name: "qwen", program: "qwen", files: found, late: true, awake: 3000 * time.Millisecond,
		window: 100_000, summary: "<state_snapshot>Greetings were exchanged.</state_snapshot>",
		env: func(b *box) []string {
			return []string{"OPENAI_API_KEY=none", "OPENAI_BASE_URL=" + b.model.URL + "/v1", "OPENAI_MODEL=one"}
		},
		settings: func(*box) map[string]string {
			return map[string]string{".qwen/settings.json": `{
  "$version": 4,
  "security": {"auth": {"selectedType": "openai"}},
  "general": {"enableAutoUpdate": false, "disableAutoUpdate": true},
  "privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false}, "ide": {"enabled": false},
  "model": {"name": "one", "generationConfig": {"contextWindowSize": 128000}}
}
`}
		},
		run: func(prompt string, resume bool) []string {
			if resume {
				return []string{"--continue", "-p", prompt, "--yolo"}
			}
			return []string{"-p", prompt, "--yolo"}
		},
		session: func(id, prompt string) []string { return []string{"--resume", id, "-p", prompt, "--yolo"} },
		call: func(c model.Call, _ []model.Item) (string, any) {
			switch c.Tool {
			case model.Shell:
				return "run_shell_command", args{"command": c.Arg, "description": "Run a command", "is_background": false}
			case model.Agent:
				return "agent", args{"description": "Count", "prompt": c.Arg, "subagent_type": "general-purpose"}
			}
			return mcp("mcp__tape__", c)
		},
		subagent: helper(nil, model.Step{Text: "There are two files."}),
	}
}

func pi() agent {
	return agent{
		name: "pi", program: "pi", files: found, awake: 1500 * time.Millisecond,
		window: 190_000,
		cases:  []string{"tools", "resume", "long answer", "compaction", "two at once", "agent killed", "hook killed", "no program", "full disk", "uninstall"}, // it has no subagents and no MCP of its own
		env:    func(*box) []string { return []string{"PI_OFFLINE=1"} },
		settings: func(b *box) map[string]string {
			return map[string]string{
				".pi/agent/settings.json": `{"defaultProvider": "scripted", "defaultModel": "one", "quietStartup": true, "compaction": {"keepRecentTokens": 20}}`,
				".pi/agent/models.json": fmt.Sprintf(`{"providers": {"scripted": {"baseUrl": "%s/v1", "api": "openai-completions", "apiKey": "none",
  "models": [{"id": "one", "name": "one", "contextWindow": 200000, "maxTokens": 8192}]}}}`, b.model.URL),
			}
		},
		run: func(prompt string, resume bool) []string {
			if resume {
				return []string{"--continue", "-p", prompt}
			}
			return []string{"-p", prompt}
		},
		session: func(id, prompt string) []string { return []string{"--session", id, "-p", prompt} },
		call:    func(c model.Call, _ []model.Item) (string, any) { return "bash", args{"command": c.Arg} },
	}
}

// copilot needs no account: the environment names its model. It writes part of its transcript after its last hook.
func copilot() agent {
	return agent{
		name: "copilot", program: "copilot", files: found, late: true, awake: 3000 * time.Millisecond,
		cases: []string{"tools", "resume", "long answer", "subagent", "two at once", "agent killed", "hook killed", "no program", "full disk", "mcp", "uninstall"},
		env: func(b *box) []string {
			return []string{"COPILOT_OFFLINE=true", "COPILOT_AUTO_UPDATE=false", "COPILOT_PROVIDER_BASE_URL=" + b.model.URL + "/v1",
				"COPILOT_PROVIDER_API_KEY=none", "COPILOT_MODEL=one"}
		},
		settings: func(*box) map[string]string { return nil },
		run: func(prompt string, resume bool) []string {
			if resume {
				return []string{"--allow-all", "--continue", "-p", prompt}
			}
			return []string{"--allow-all", "-p", prompt}
		},
		call: func(c model.Call, _ []model.Item) (string, any) {
			switch c.Tool {
			case model.Shell:
				return "bash", args{"command": c.Arg, "description": "Run a command"}
			case model.Agent:
				return "task", args{"description": "Count", "prompt": c.Arg, "agent_type": "task", "name": "counter"}
			}
			return mcp("tape-", c)
		},
		subagent: helper(nil, model.Step{Text: "There are two files."}),
	}
}

// kimi is Kimi Code, which needs no account: the environment names its model. It writes part of its transcript after its
// last hook.
func kimi() agent {
	return agent{
		name: "kimi", program: "kimi", files: found, imported: true, late: true, awake: 3000 * time.Millisecond,
		// A compaction begins the turn again, as often as the model reports so many tokens.
		cases: []string{"tools", "resume", "long answer", "subagent", "two at once", "agent killed", "hook killed", "no program", "full disk", "mcp", "uninstall"},
		env: func(b *box) []string {
			return []string{"KIMI_CODE_NO_AUTO_UPDATE=1", "KIMI_DISABLE_TELEMETRY=1", "KIMI_MODEL_NAME=one", "KIMI_MODEL_PROVIDER_TYPE=openai",
				"KIMI_MODEL_BASE_URL=" + b.model.URL + "/v1", "KIMI_MODEL_API_KEY=none", "KIMI_MODEL_MAX_CONTEXT_SIZE=200000"}
		},
		settings: func(*box) map[string]string {
			return map[string]string{".kimi-code/config.toml": "# mine\n[[hooks]]\nevent = \"Stop\"\ncommand = \"true\"\n"}
		},
		run: func(prompt string, resume bool) []string {
			if resume {
				return []string{"--continue", "-p", prompt}
			}
			return []string{"-p", prompt}
		},
		call: func(c model.Call, _ []model.Item) (string, any) {
			switch c.Tool {
			case model.Shell:
				return "Bash", args{"command": c.Arg}
			case model.Agent:
				return "Agent", args{"description": "Count", "prompt": c.Arg, "subagent_type": "coder"}
			}
			return mcp("mcp__tape__", c)
		},
		subagent: helper(nil, model.Step{Text: "There are two files."}),
	}
}

// grok is xAI's Grok Build, which needs no account for a model of one's own. It writes part of its transcript after its
// last hook.
func grok() agent {
	return agent{
		name: "grok", program: "grok", files: found, imported: true, titleTool: true, rewrites: ".grok/config.toml", late: true, awake: 2000 * time.Millisecond,
		cases: []string{"tools", "resume", "long answer", "subagent", "two at once", "agent killed", "hook killed", "no program", "full disk", "mcp", "uninstall"},
		env: func(*box) []string {
			return []string{"GROK_TELEMETRY_ENABLED=false", "GROK_DISABLE_AUTOUPDATER=1",
				"GROK_TURN_SUMMARY=false", "GROK_SESSION_RECAP=false"} // each would be a request with the whole conversation
		},
		settings: func(b *box) map[string]string {
			return map[string]string{".grok/config.toml": fmt.Sprintf(`[models]
default = "scripted"

[model.scripted]
model = "one"
name = "one"
base_url = "%s/v1"
api_key = "none"
context_window = 200000
`, b.model.URL)}
		},
		run: func(prompt string, resume bool) []string {
			out := []string{"--always-approve", "-m", "scripted"}
			if resume {
				out = append(out, "--continue")
			}
			return append(out, "-p", prompt)
		},
		call: func(c model.Call, _ []model.Item) (string, any) {
			switch c.Tool {
			case model.Shell:
				return "run_terminal_command", args{"command": c.Arg, "description": "Run a command"}
			case model.Agent:
				return "spawn_subagent", args{"description": "Count", "prompt": c.Arg, "subagent_type": "general-purpose"}
			}
			return mcp("tape__", c)
		},
		subagent: helper(nil, model.Step{Text: "There are two files."}),
	}
}
