package display

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Program returns a command that runs the program of a setting, such as PAGER, with arguments; nil if the setting is
// blank. As in git, the shell runs anything but plain words, such as a pipe or a quoted path: the setting is the user's
// own. A program is not looked up in the folder where the user stands, which may be anybody's: a relative path is an error,
// and so is a relative entry of PATH for what it would find.
func Program(ctx context.Context, setting string, args ...string) *exec.Cmd {
	words := strings.Fields(setting)
	if len(words) == 0 {
		return nil
	}
	if strings.ContainsAny(words[0], `/\`) && !filepath.IsAbs(words[0]) && !strings.ContainsAny(words[0][:1], "~$\"'`(") {
		cmd := exec.CommandContext(ctx, words[0], append(words[1:], args...)...)
		cmd.Err = fmt.Errorf("%q is a relative path, and would be another program in each folder", words[0])
		return cmd
	}
	if strings.ContainsAny(setting, "|&;<>()$`\\\"' \t\n*?[#~=%") && runtime.GOOS != "windows" {
		if len(args) > 0 {
			setting += ` "$@"`
		}
		cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", setting, words[0]}, args...)...)
		cmd.Env = absolutePath(os.Environ())
		return cmd
	}
	return exec.CommandContext(ctx, words[0], append(words[1:], args...)...)
}

// absolutePath removes from PATH what is not absolute: the shell would look there in the folder where the user stands.
func absolutePath(env []string) []string {
	for i, v := range env {
		if list, is := strings.CutPrefix(v, "PATH="); is {
			dirs := slices.DeleteFunc(filepath.SplitList(list), func(dir string) bool { return !filepath.IsAbs(dir) })
			env[i] = "PATH=" + strings.Join(dirs, string(filepath.ListSeparator))
		}
	}
	return env
}
