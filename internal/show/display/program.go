package display

import (
	"context"
	"os/exec"
	"runtime"
	"strings"
)

// Program returns a command that runs the program of a setting, such as PAGER, with arguments; nil if the setting is
// blank. As in git, the shell runs anything but plain words, such as a pipe or a quoted path: the setting is the user's
// own.
func Program(ctx context.Context, setting string, args ...string) *exec.Cmd {
	words := strings.Fields(setting)
	if len(words) == 0 {
		return nil
	}
	if strings.ContainsAny(setting, "|&;<>()$`\\\"' \t\n*?[#~=%") && runtime.GOOS != "windows" {
		if len(args) > 0 {
			setting += ` "$@"`
		}
		return exec.CommandContext(ctx, "sh", append([]string{"-c", setting, words[0]}, args...)...)
	}
	return exec.CommandContext(ctx, words[0], append(words[1:], args...)...)
}
