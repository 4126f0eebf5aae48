//go:build unix

package agentstest

import "tape/cmd/internal/agentstest/model"

func shell(command string) model.Call { return model.Call{Tool: model.Shell, Arg: command} }

// talk is a session with calls, one after the other and side by side.
func talk() model.Script {
	return model.Script{
		"say hello": {
			{Think: "A shell will do.", Text: "I will say it.", Calls: []model.Call{shell("echo hello-from-tool")}},
			{Text: "It said hello-from-tool."},
		},
		"three things": {
			{Text: "Three at once.", Calls: []model.Call{shell("sleep 0.3; echo one-of-three"), shell("echo two-of-three"), shell("echo three-of-three; exit 3")}},
			{Text: "All three are done."},
		},
	}
}
