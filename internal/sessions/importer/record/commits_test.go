package record

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Programs keep results in different forms. The lines that git prints for a commit are found in each.
func TestCommitsIn(t *testing.T) {
	byGit, byScript := `{"command":"cd a && git -C b commit -qm x; git push"}`, `{"command":"./release.sh"}`
	const counted = `\n 1 file changed, 2 insertions(+)\n create mode 100644 a`
	one := []commit{{"1a2b3c4", "add a check"}}
	for _, c := range []struct {
		name, input, content string
		want                 []commit
	}{
		{"a branch", byGit, `"[main 1a2b3c4] add a check` + counted + `"`, one},
		{"a branch with slashes", byGit, `"[feature/x-1.2 1a2b3c4] add a check"`, one},
		{"the first commit", byGit, `"[main (root-commit) 1a2b3c4] add a check"`, one},
		{"no branch", byGit, `"[detached HEAD 1a2b3c4] add a check"`, one},
		{"another language", byGit, `"[losgelöster HEAD 1a2b3c4] add a check"`, one},
		{"after a hook's output", byGit, `"lint: ok\nAuto-merging\n[main 1a2b3c4] add a check\r\n"`, one},
		{"two", byGit, `"[main 1a2b3c4] add a check` + counted + `\n[main 99887766] [x] and] more\n"`, []commit{one[0], {"99887766", "[x] and] more"}}},
		{"blocks", byGit, `[{"type":"text","text":"[main 1a2b3c4] add a check"}]`, one},
		{"an object in a text", byGit, `"{\"output\":\"[main 1a2b3c4] add a check\\n\",\"metadata\":{\"exit_code\":0}}"`, one},
		{"a heading", byGit, `"Command: git commit\nOutput: [main 1a2b3c4] add a check\nExit Code: 0"`, one},
		{"a heading in a tag", byGit, `"<untrusted_context>\nOutput: [main 1a2b3c4] add a check\n 1 file changed\nProcess Group PGID: 47\n</untrusted_context>"`, one},
		{"words of a command", `{"command":["bash","-lc","git commit -m x"]}`, `"[main 1a2b3c4] add a check"`, one},
		{"a script in a call", `{"input":"await tools.exec_command({cmd:'git commit'})"}`, `["[main 1a2b3c4] add a check"]`, one},
		{"cherry-pick", `{"cmd":"git cherry-pick abc"}`, `"[main 1a2b3c4] add a check\n Date: Fri"`, one},
		{"a script", byScript, `"released\n[main 1a2b3c4] add a check` + counted + `"`, one},
		{"a script that amends", byScript, `"[main 1a2b3c4] add a check\n Author: A <a@b>\n Date: Fri Nov 20` + counted + `"`, one},

		{"a script's own line", byScript, `"[main 1a2b3c4] add a check\ndone"`, nil},
		{"quiet", byGit, `""`, nil},
		{"nothing to commit", byGit, `"On branch main\nnothing to commit"`, nil},
		{"a short number", byGit, `"[info 123456] text"`, nil},
		{"no id", byGit, `"[main 1a2b3cg] text"`, nil},
		{"an id alone", byGit, `"[1a2b3c4] text"`, nil},
		{"within a line", byGit, `"see [main 1a2b3c4] add a check"`, nil},
		{"a file that is read", `{"file_path":"notes.md"}`, `"[main 1a2b3c4] add a check` + counted + `"`, nil},
		{"no call", "", `"[main 1a2b3c4] add a check` + counted + `"`, one},
		{"no call, and no count", "", `"[main 1a2b3c4] add a check"`, nil},
		{"nothing", byGit, "", nil},
	} {
		var input []byte
		if c.input != "" {
			input = []byte(c.input)
		}
		if got := commitsIn(input, []byte(c.content)); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// Whatever is around them, all lines of git are found, in their order, and no others.
func TestCommitsAmongOtherLines(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	other := []string{"", "ok", "[main] x", "[1a2b3c4] x", "] [main 1a2b3c4", "+[main 1a2b3c4] x", " 1 file changed", "[x 12345] y"}
	for range 500 {
		var lines []string
		var want []commit
		for range rng.IntN(12) {
			if rng.IntN(2) == 0 {
				lines = append(lines, other[rng.IntN(len(other))])
				continue
			}
			c := commit{fmt.Sprintf("%07x", rng.Uint64()>>rng.IntN(30)), fmt.Sprint("subject ] ", len(want))}
			want = append(want, c)
			lines = append(lines, fmt.Sprintf("[b%d %s] %s", rng.IntN(9), c.id, c.subject))
		}
		text := strings.Join(lines, "\n")
		if got := commitsIn([]byte(`{"command":"git commit"}`), Quote(text)); !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v, in\n%s", got, want, text)
		}
	}
}

// The number of entries that a result makes is limited.
func TestCommitsAreBounded(t *testing.T) {
	text := strings.Repeat("[main 1a2b3c4] x\n", 10*maxCommits) + "[main 1a2b3c4] " + strings.Repeat("x", longestSubject)
	if got := commitsIn([]byte(`{"command":"git commit"}`), Quote(text)); len(got) != maxCommits {
		t.Errorf("%d commits, want %d", len(got), maxCommits)
	}
}
