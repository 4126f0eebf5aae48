package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// ripgrep is the step that scans the files of a workspace, or nil where there is no rg.
func ripgrep(ws string, args ...string) step {
	rg, err := exec.LookPath("rg")
	if err != nil {
		return nil
	}
	argv := append(append([]string{rg, "--no-config", "-c"}, args...), filepath.Join(ws, "anchors"))
	return always(command{argv: argv, search: true})
}

func (s *setup) sayRipgrep() {
	if _, err := exec.LookPath("rg"); err != nil {
		fmt.Fprintln(s.out, "ripgrep (rg) is not installed: its column is left out")
	}
}

// searches pairs ranked searches of a fresh index with ripgrep counting the lines that
// have the word; of several words, the one that most have.
func (s *setup) searches() error {
	ws, n, err := s.searched()
	if err != nil {
		return err
	}
	s.sayRipgrep()
	word := func(w string) []string { return []string{"-F", "-w", "--", w} }
	text := func(w string) []string { return []string{"-F", "--", w} }
	for _, row := range []struct {
		name string
		args []string
		rg   []string
	}{
		{"rare word", []string{n.rare}, word(n.rare)},
		{"frequent word", []string{n.often}, word(n.often)},
		{"two words", []string{strings.Join(n.two, " ")}, word(n.two[0])},
		{"three words", []string{strings.Join(n.three, " ")}, word(n.three[0])},
		{"frequent and rare word", []string{n.often + " " + n.rare}, word(n.rare)},
		{"phrase of frequent words", []string{`"` + n.phrase + `"`}, word(n.phrase)},
		{"phrase of seldom words", []string{`"` + n.seldom + `"`}, word(n.seldom)},
		{"prefix", []string{n.prefix + "*"}, []string{"--", `\b` + n.prefix}},
		{"two Chinese characters", []string{n.cjk2}, text(n.cjk2)},
		{"four Chinese characters", []string{n.cjk4}, text(n.cjk4)},
		{"identifier", []string{n.name}, word(n.name)},
		{"error code", []string{n.code}, word(n.code)},
		{"misspelt word", []string{n.typo}, word(n.right)},
		{"frequent word --count", []string{n.often, "--count"}, word(n.often)},
		{"frequent word --sort newest", []string{n.often, "--sort", "newest"}, word(n.often)},
		{"frequent word --kind message", []string{n.often, "--kind", "message"}, word(n.often)},
		{"frequent word of one day", []string{n.often, "--since", "2026-02-10", "--until", "2026-02-10"}, word(n.often)},
		{"rare word of one day", []string{n.rare, "--since", "2026-02-10", "--until", "2026-02-10"}, word(n.rare)},
	} {
		find := s.cmd(ws, append([]string{"search"}, row.args...)...)
		name := fmt.Sprintf("%s: %s", row.name, row.args[0])
		if err := paired(s.out, name, s.runs, always(find), ripgrep(ws, row.rg...), "rg"); err != nil {
			return err
		}
	}
	return nil
}

// linear times once the program that parses every line, for a word in a hundredth of
// them.
func (s *setup) linear() error {
	ws, n, err := s.searched()
	if err != nil {
		return err
	}
	jq, err := exec.LookPath("jq")
	if err != nil {
		fmt.Fprintln(s.out, "jq is not installed: this row is left out")
		return nil
	}
	files, err := filepath.Glob(filepath.Join(ws, "anchors", "*", "*.jsonl"))
	if err != nil {
		return err
	}
	filter := `select([.payload | .. | strings | contains("` + n.right + `")] | any) | .id`
	parse := command{argv: append([]string{jq, "-c", filter}, files...)}
	once, err := alternate(0, 1, always(parse), always(s.cmd(ws, "search", n.right)))
	if err != nil {
		return err
	}
	p := once[0]
	fmt.Fprintf(s.out, "%-38s %10s   a jq filter over all lines %s: %.0f times as long\n", "word: "+n.right,
		short(p.b.wall), p.a.wall.Round(10*time.Millisecond), float64(p.a.wall)/float64(p.b.wall))
	return nil
}

// exacts pairs the searches that scan, as ripgrep does, with it.
func (s *setup) exacts() error {
	ws, n, err := s.searched()
	if err != nil {
		return err
	}
	s.sayRipgrep()
	const absent = "xqzzvkw" // no syllables of the vocabulary
	middle := n.rare[1 : len(n.rare)-1]
	for _, row := range []struct {
		name string
		args []string
		rg   []string
	}{
		{"--substring, rare: " + middle, []string{"--substring", middle}, []string{"-F", "--", middle}},
		{"--substring, absent: " + absent, []string{"--substring", absent}, []string{"-F", "--", absent}},
		{"--substring, frequent: " + n.often, []string{"--substring", n.often}, []string{"-F", "--", n.often}},
		{"--substring -i: " + strings.ToUpper(middle), []string{"--substring", "-i", strings.ToUpper(middle)}, []string{"-F", "-i", "--", middle}},
		regexRow("with a literal", n.right+`\s+\w+\.`),
		regexRow("alternation", n.rare+"|"+n.two[0]+"x|"+absent),
		regexRow("class", `E_[A-Z]+_\d+`),
		regexRow("class, rare", n.code[:len(n.code)-2]+`\d[0-4]`),
		regexRow("no literal", `[a-f]{6}\d`),
	} {
		find := s.cmd(ws, append([]string{"search"}, row.args...)...)
		if err := paired(s.out, row.name, s.few(), always(find), ripgrep(ws, row.rg...), "rg"); err != nil {
			return err
		}
		if count := append(row.args, "--count"); row.args[0] == "--substring" {
			if err := paired(s.out, "  the same with --count", s.few(), always(s.cmd(ws, append([]string{"search"}, count...)...)), ripgrep(ws, row.rg...), "rg"); err != nil {
				return err
			}
		}
	}
	return nil
}

func regexRow(name, expr string) struct {
	name string
	args []string
	rg   []string
} {
	return struct {
		name string
		args []string
		rg   []string
	}{"--regex, " + name, []string{"--regex", expr}, []string{"--", expr}}
}

// few is the number of pairs of what takes tenths of seconds.
func (s *setup) few() int { return max(s.runs/3, 1) }

// catchUps tells what one more entry costs the next search.
func (s *setup) catchUps() error {
	ws, n, err := s.searched()
	if err != nil {
		return err
	}
	find := s.cmd(ws, "search", n.rare)
	add := s.cmd(ws, "append", "--role", "user", "--text", "what did the last test say?", "--quiet")
	stale := func(int) []command {
		if _, err := add.run(); err != nil {
			return []command{{argv: []string{"false"}}}
		}
		return []command{find}
	}
	pairs, err := alternate(2, 2*s.runs, stale, always(find))
	if err != nil {
		return err
	}
	printPair(s.out, "search after one append", pairs, "fresh")
	fmt.Fprintf(s.out, "%-38s %10s\n", "  catching up", short(medianOf(pairs, pair.more)))
	return nil
}

// betweens pairs the entries between two anchors of a tape of many phases with a
// program that does nothing.
func (s *setup) betweens() error {
	ws, err := s.phased(s.big)
	if err != nil {
		return err
	}
	at := s.big / 2000 // the middle
	phase := func(n int) string { return fmt.Sprintf("phase-%d", n) }
	from, to, last := phase(at), phase(at+1), phase(min(at+10, s.big/1000-1))
	nothing := always(s.cmd(ws, "version"))
	for _, args := range [][]string{{from, to, "-n", "1"}, {from, to}, {from, to, "--json"}, {from, last, "--json"}} {
		pairs, err := alternate(2, s.runs, always(s.cmd(ws, append([]string{"between"}, args...)...)), nothing)
		if err != nil {
			return err
		}
		out := s.cmd(ws, append([]string{"between"}, args...)...)
		size, err := out.output()
		if err != nil {
			return err
		}
		printPair(s.out, "between "+strings.Join(args, " "), pairs, "tape version")
		fmt.Fprintf(s.out, "%-38s %10s for %d KB of output\n", "  more than tape version", short(medianOf(pairs, pair.more)), size>>10)
	}
	return nil
}

// contexts pairs the context of a long tape with that of a short one. Both open phases
// have the same ten entries.
func (s *setup) contexts() error {
	var sides []step
	for _, n := range []int{s.big, 1000} {
		ws, err := s.workspace(n)
		if err != nil {
			return err
		}
		if _, err := s.cmd(ws, "handoff", "context", "--quiet").run(); err != nil {
			return err
		}
		fill := s.cmd(ws, "append", "--stdin", "--quiet")
		fill.stdin = s.entries(10)
		if _, err := fill.run(); err != nil {
			return err
		}
		sides = append(sides, always(s.cmd(ws, "context")))
	}
	return paired(s.out, fmt.Sprintf("context, %d entries", s.big), 2*s.runs, sides[0], sides[1], "1000 entries")
}

// output is the size of what a command writes, in bytes.
func (c command) output() (int, error) {
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	cmd.Dir, cmd.Env = c.dir, append(os.Environ(), c.env...)
	b, err := cmd.Output()
	return len(b), err
}
