//go:build unix && extra

package agentstest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"tape/cmd/internal/agentstest/model"
)

// An agent is one of the programs, with what it takes to use it without a person.
type agent struct {
	name    string // as tape names it
	program string // in node_modules/.bin
	// files returns the transcripts to import; none if tape finds them by itself.
	files    func(b *box) []string
	env      func(b *box) []string
	settings func(b *box) map[string]string // files below HOME
	rewrites string                         // the one of these files that the agent itself changes
	run      func(prompt string, resume bool) []string
	session  func(id, prompt string) []string // arguments for another prompt of a session; nil: none
	call     func(c model.Call, history []model.Item) (string, any)
	subagent model.Script // for the prompt "send a helper"
	cases    []string     // the names of the trials that it takes part in; nil: all
	// window is how many tokens to report as used, to make the agent compact its history.
	window    int
	summary   string        // what the model answers if the agent asks for a summary; "": a plain sentence
	imported  bool          // an import of what was recorded adds nothing
	titleTool bool          // it asks the model for a title by a tool, whose argument is the title
	late      bool          // it writes records after its last hook; the next hook or record sync reads these
	awake     time.Duration // how long it takes until it first asks the model
}

type args = map[string]any

// agents returns the agents that take part in all trials. Their settings make them talk to the scripted model only: no
// other hosts, no updates, no questions.
func agents() []agent { return []agent{claudeCode(), codex(), gemini(), opencode()} }

func claudeCode() agent {
	return agent{
		name: "claude-code", program: "claude", files: found, window: 990_000, awake: 1500 * time.Millisecond,
		env: func(b *box) []string {
			return []string{"ANTHROPIC_BASE_URL=" + b.model.URL, "ANTHROPIC_API_KEY=none", "CLAUDE_CODE_MAX_RETRIES=1",
				"DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1", "DISABLE_AUTOUPDATER=1",
				"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}
		},
		settings: func(*box) map[string]string {
			return map[string]string{".claude/settings.json": "{\n  \"permissions\": {\n    \"allow\": [\"Bash\", \"Agent\", \"mcp__tape\"]\n  }\n}\n"}
		},
		run: func(prompt string, resume bool) []string {
			out := []string{"--model", "claude-sonnet-5"}
			if resume {
				out = append(out, "--continue")
			}
			return append(out, "-p", prompt)
		},
		session: func(id, prompt string) []string {
			return []string{"--model", "claude-sonnet-5", "--resume", id, "-p", prompt}
		},
		call: func(c model.Call, _ []model.Item) (string, any) {
			switch c.Tool {
			case model.Shell:
				return "Bash", args{"command": c.Arg, "description": "Run a command"}
			case model.Agent:
				return "Agent", args{"description": "Count", "prompt": c.Arg, "subagent_type": "general-purpose"}
			}
			return mcp("mcp__tape__", c)
		},
		subagent: helper(nil, model.Step{Text: "There are two files."}),
	}
}

func codex() agent {
	return agent{
		name: "codex", program: "codex", files: found, window: 250_000, awake: 400 * time.Millisecond,
		env: func(*box) []string { return []string{"SCRIPTED_KEY=none"} },
		settings: func(b *box) map[string]string {
			return map[string]string{".codex/config.toml": fmt.Sprintf(`# the model of these tests
model = "gpt-5.2-codex"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "%s/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1

[analytics]
enabled = false

[projects.%q]
trust_level = "trusted"
`, b.model.URL, b.project)}
		},
		run: func(prompt string, resume bool) []string {
			if resume {
				return []string{"exec", "--dangerously-bypass-hook-trust", "resume", "--last", prompt}
			}
			return []string{"exec", "--dangerously-bypass-hook-trust", prompt}
		},
		session: func(id, prompt string) []string {
			return []string{"exec", "--dangerously-bypass-hook-trust", "resume", id, prompt}
		},
		call: func(c model.Call, history []model.Item) (string, any) {
			switch c.Tool {
			case model.Shell:
				return "exec_command", args{"cmd": c.Arg}
			case model.Agent:
				return "multi_agent_v1.spawn_agent", args{"message": c.Arg}
			case model.Wait:
				return "multi_agent_v1.wait_agent", args{"targets": []string{agentID(history)}, "timeout_ms": 60_000}
			}
			return mcp("mcp__tape.", c)
		},
		subagent: helper([]model.Step{{Calls: []model.Call{{Tool: model.Wait}}}}, model.Step{Text: "There are two files."}),
	}
}

func gemini() agent {
	return agent{
		name: "gemini", program: "gemini", files: found, window: 1_000_000, awake: 3000 * time.Millisecond,
		summary: "<state_snapshot>Greetings were exchanged.</state_snapshot>",
		env: func(b *box) []string {
			return []string{"GOOGLE_GEMINI_BASE_URL=" + b.model.URL, "GEMINI_API_KEY=none", "GEMINI_CLI_NO_RELAUNCH=true", "NO_BROWSER=true"}
		},
		settings: func(*box) map[string]string {
			return map[string]string{".gemini/settings.json": `{
  // the key is in the environment
  "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}},
  "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
  // After 30 calls it would ask the model, for minutes, whether it is in a loop.
  "model": {"disableLoopDetection": true},
  "privacy": {"usageStatisticsEnabled": false}
}
`}
		},
		run: func(prompt string, resume bool) []string {
			out := []string{"--yolo", "--model", "gemini-2.5-pro"}
			if resume {
				out = append(out, "--resume", "latest")
			}
			return append(out, "--prompt", prompt)
		},
		session: func(id, prompt string) []string {
			return []string{"--yolo", "--model", "gemini-2.5-pro", "--resume", id, "--prompt", prompt}
		},
		call: func(c model.Call, _ []model.Item) (string, any) {
			switch c.Tool {
			case model.Shell:
				return "run_shell_command", args{"command": c.Arg, "description": "Run a command"}
			case model.Agent:
				return "invoke_agent", args{"agent_name": "generalist", "prompt": c.Arg}
			case model.Done:
				return "complete_task", args{"result": c.Arg}
			}
			return mcp("mcp_tape_", c)
		},
		subagent: helper(nil, model.Step{Calls: []model.Call{{Tool: model.Done, Arg: "There are two files."}}}),
	}
}

func opencode() agent {
	return agent{
		name: "opencode", program: "opencode", files: exported, window: 195_000, awake: 8000 * time.Millisecond,
		env: func(*box) []string {
			return []string{"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1"}
		},
		settings: func(b *box) map[string]string {
			out := map[string]string{".config/opencode/opencode.json": fmt.Sprintf(`{
  "$schema": "https://opencode.ai/config.json",
  "model": "scripted/one", "small_model": "scripted/one",
  "autoupdate": false, "share": "disabled", "permission": "allow",
  "provider": {"scripted": {
    "npm": "@ai-sdk/openai-compatible", "name": "scripted",
    "options": {"baseURL": "%s/v1", "apiKey": "none"},
    "models": {"one": {"name": "one", "tool_call": true, "limit": {"context": 200000, "output": 8000}}}
  }}
}
`, b.model.URL)}
			// Before it loads a plugin it asks a registry for the plugins' types, and waits, unless they seem to be installed.
			out[".config/opencode/node_modules/.keep"] = ""
			out[".config/opencode/package.json"] = `{"dependencies":{"@opencode-ai/plugin":"1.18.33"}}`
			out[".config/opencode/package-lock.json"] = `{"name":"opencode","lockfileVersion":3,"requires":true,"packages":{` +
				`"":{"dependencies":{"@opencode-ai/plugin":"1.18.33"}},"node_modules/@opencode-ai/plugin":{"version":"1.18.33"}}}`
			return out
		},
		run: func(prompt string, resume bool) []string {
			if resume {
				return []string{"run", "--continue", prompt}
			}
			return []string{"run", prompt}
		},
		session: func(id, prompt string) []string { return []string{"run", "--session", id, prompt} },
		call: func(c model.Call, _ []model.Item) (string, any) {
			switch c.Tool {
			case model.Shell:
				return "bash", args{"command": c.Arg, "description": "Run a command"}
			case model.Agent:
				return "task", args{"description": "Count", "prompt": c.Arg, "subagent_type": "general"}
			}
			return mcp("tape_", c)
		},
		subagent: helper(nil, model.Step{Text: "There are two files."}),
	}
}

// helper returns a session that starts a subagent. Agents differ in how they wait for it, and in its last step.
func helper(wait []model.Step, last model.Step) model.Script {
	steps := []model.Step{{Text: "A helper will count.", Calls: []model.Call{{Tool: model.Agent, Arg: "count the files here"}}}}
	steps = append(append(steps, wait...), model.Step{Text: "The helper counted."})
	return model.Script{
		"send a helper": steps,
		"count the files here": {
			{Text: "I look.", Calls: []model.Call{{Tool: model.Shell, Arg: "echo two-files"}}},
			last,
		},
	}
}

// mcp returns a call of a tool of tape's MCP server. Each agent has its own prefix for the tool's name.
func mcp(prefix string, c model.Call) (string, any) {
	name, arguments, _ := strings.Cut(c.Arg, " ")
	return prefix + name, json.RawMessage(arguments)
}

// agentID returns the id of the subagent that was started last, from the history; "" if there is none.
func agentID(history []model.Item) string {
	id := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	for i := len(history) - 1; i >= 0; i-- {
		if history[i].Kind == model.Result {
			if found := id.FindString(history[i].Text); found != "" {
				return found
			}
		}
	}
	return ""
}

// found names no files: tape finds the transcripts by itself.
func found(*box) []string { return nil }

// exported makes opencode write its sessions from its database to files, and returns their folder. Its list leaves out
// the sessions of subagents, whose ids are in their parents' sessions.
func exported(b *box) []string {
	b.t.Helper()
	dir := b.t.TempDir()
	into := func(file string, arg ...string) string { // into a pipe it writes 64 KB at most
		path := filepath.Join(dir, file)
		b.command("sh", append([]string{"-c", `out=$1; shift; exec "$0" "$@" >"$out" 2>/dev/null`, b.agent.path(), path}, arg...)...)
		text, err := os.ReadFile(path)
		b.must(err)
		return string(text)
	}
	ids := slices.Compact(sessionIDs(into("list", "session", "list", "--format", "json")))
	for i := 0; i < len(ids); i++ {
		for _, id := range sessionIDs(into(ids[i]+".json", "export", ids[i])) {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return []string{dir}
}

// sessionIDs returns the whole session ids in a text. A shortened result may have one that is cut off.
func sessionIDs(text string) []string {
	return regexp.MustCompile(`\bses_[0-9A-Za-z]{26}\b`).FindAllString(text, -1)
}

func (a agent) path() string { return filepath.Join(programs(), "node_modules", ".bin", a.program) }
