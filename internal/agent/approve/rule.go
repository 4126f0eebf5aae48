package approve

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tape/hooks"
	"tape/internal/store/setting"
)

// rule is one of the user's rules.
type rule struct {
	setting.Rule
	words []string // of a pattern for commands
}

// parseRules reads the rules that count in a project.
func parseRules(list []string, project string) (out []rule, err error) {
	for _, text := range list {
		r, err := parseRule(text)
		if err != nil {
			return nil, err
		}
		if r.Project == "" || r.Project == project {
			out = append(out, r)
		}
	}
	return out, nil
}

func parseRule(text string) (r rule, err error) {
	r.Rule, err = setting.ParseRule(text)
	r.words = strings.Fields(r.Pattern)
	return r, err
}

// ofTool reports whether a rule is about a tool.
func (r rule) ofTool(tool string) bool {
	ok, err := path.Match(r.Tool, tool)
	return ok && err == nil
}

// match says whether a rule that denies or asks is about a call.
type match int

const (
	no      match = iota
	perhaps       // known only when the call runs
	yes
)

// reaches says whether a rule that denies or asks is about a call. It is generous: it also finds the
// command behind env, sudo, a path or options, and a file by its other name.
func (r rule) reaches(c Call, line commandLine) match {
	is := func(found bool) match {
		if found {
			return yes
		}
		return no
	}
	switch {
	case !r.ofTool(c.Tool):
		return no
	case r.Pattern == "":
		return yes
	case c.Preview.Command != "":
		found := is(false)
		if line.unclear {
			found = perhaps
		}
		for _, s := range line.simple {
			found = max(found, r.isSomewhereIn(s))
		}
		return found
	case c.Preview.Path != "":
		pattern := strings.ToLower(r.Pattern)
		return is(glob(pattern, strings.ToLower(c.Preview.Path)) || glob(pattern, strings.ToLower(path.Clean(c.Preview.Named))) || isOther(r.Pattern, c))
	case c.Preview.Host != "":
		return is(glob(strings.ToLower(r.Pattern), c.Preview.Host))
	case c.Reads:
		return no
	}
	return perhaps // the call has nothing to compare with the pattern
}

// isOther reports whether the file of a call is a hard link to one that a pattern matches.
func isOther(pattern string, c Call) bool {
	if c.Project == "" {
		return false
	}
	info, err := os.Stat(filepath.Join(c.Project, c.Preview.Path))
	if err != nil || !info.Mode().IsRegular() || !hasOtherNames(info) {
		return false
	}
	if !strings.ContainsAny(pattern, "*?[") {
		other, err := os.Stat(filepath.Join(c.Project, pattern))
		return err == nil && os.SameFile(info, other)
	}
	found := false
	_ = filepath.WalkDir(c.Project, func(at string, d fs.DirEntry, err error) error { // what cannot be read cannot be named either
		rel, relErr := filepath.Rel(c.Project, at)
		if err != nil || relErr != nil || d.IsDir() || !glob(strings.ToLower(pattern), strings.ToLower(filepath.ToSlash(rel))) {
			return nil
		}
		if other, err := os.Stat(at); err == nil && os.SameFile(info, other) {
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// isSomewhereIn says whether a command begins with the rule's words, perhaps with options between them, or
// runs such a command.
func (r rule) isSomewhereIn(c simpleCommand) match {
	found := no
	for i, word := range c.words {
		if i > 0 && !runsOthers(c.words[0]) {
			break
		}
		if len(r.words) > 0 && strings.EqualFold(path.Base(word), path.Base(r.words[0])) {
			found = max(found, inOrder(c.words[i+1:], r.words[1:], c.others || c.more))
		}
	}
	return found
}

// inOrder says whether a command's words are the wanted words of a rule, in this order. Options, with a value
// each, may stand before and between them. If a wanted word is an option, any words may stand before it. more
// says that the command has further words, which are not known.
func inOrder(words, wanted []string, more bool) match {
	option := false
	for _, w := range words {
		switch {
		case len(wanted) == 0:
			return yes
		case w == wanted[0]:
			wanted, option = wanted[1:], false
		case strings.HasPrefix(w, "-"):
			option = true
		case option || strings.HasPrefix(wanted[0], "-"):
			option = false
		default:
			return no
		}
	}
	switch {
	case len(wanted) == 0:
		return yes
	case more:
		return perhaps
	}
	return no
}

// begins reports whether a command begins with exactly the rule's words.
func (r rule) begins(c simpleCommand) bool {
	return len(r.words) > 0 && len(c.words) >= len(r.words) && slices.Equal(c.words[:len(r.words)], r.words)
}

// allows reports whether rules allow a call in a project: for a command line, each of its commands.
func allows(rules []rule, project string, c Call, line commandLine) bool {
	rules = slices.DeleteFunc(slices.Clone(rules), func(r rule) bool { return !r.ofTool(c.Tool) })
	if slices.ContainsFunc(rules, func(r rule) bool { return r.Pattern == "" }) {
		return true
	}
	p := c.Preview
	switch {
	case p.Command != "":
		return allowsLine(rules, project, p, line)
	case p.Path != "":
		return slices.ContainsFunc(rules, func(r rule) bool { return glob(r.Pattern, p.Path) })
	case p.Host != "":
		return slices.ContainsFunc(rules, func(r rule) bool { return glob(strings.ToLower(r.Pattern), p.Host) })
	}
	return false
}

// allowsLine reports whether rules allow each command of a line. The line may begin with a cd to a folder of
// the project. After it, neither git is allowed, because a folder can have settings with which git runs
// programs, nor a program that is found in the folder, because the rule is about the program in another
// folder.
func allowsLine(rules []rule, project string, p hooks.Preview, line commandLine) bool {
	if !line.plain || p.Outside {
		return false
	}
	moved := p.Folder != ""
	for i, c := range line.simple {
		if i == 0 && len(line.simple) > 1 && entersFolder(c, filepath.Join(project, p.Folder)) {
			moved = true
			continue
		}
		if moved && dependsOnFolder(c) || !slices.ContainsFunc(rules, func(r rule) bool { return r.begins(c) }) {
			return false
		}
	}
	return len(line.simple) > 0
}

// dependsOnFolder reports whether it depends on the current folder what a command runs.
func dependsOnFolder(c simpleCommand) bool {
	if len(c.words) == 0 {
		return true
	}
	name := c.words[0]
	return path.Base(name) == "git" || interprets(path.Base(name)) && (len(c.words) < 2 || c.words[1] != "-m") || strings.Contains(name, "/") && !path.IsAbs(name)
}

// entersFolder reports whether a command changes from a folder to one below it.
func entersFolder(c simpleCommand, from string) bool {
	if len(c.words) != 2 || c.others || c.words[0] != "cd" || strings.HasPrefix(c.words[1], "-") || !filepath.IsLocal(c.words[1]) {
		return false
	}
	root, err := filepath.EvalSymlinks(from)
	if err != nil {
		return false
	}
	to, err := filepath.EvalSymlinks(filepath.Join(from, c.words[1]))
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(root, to)
	return err == nil && filepath.IsLocal(rel)
}

// rulesFor returns the rules that would allow a call from now on together with those that exist, have, and
// how they are shown to a person. It returns none if they would allow much more than the call.
func rulesFor(have []rule, project string, c Call, line commandLine) (rules []string, shown string) {
	p := c.Preview
	if p.Command == "" {
		text := c.Tool
		if len(text) > setting.LongestRule/2 || len(p.Host) > setting.LongestRule/2 {
			return nil, ""
		}
		if p.Host != "" {
			text = fmt.Sprintf("%s(%s)", c.Tool, p.Host)
		}
		return []string{text}, text
	}
	var all []string
	candidates := slices.Clone(have)
	for _, s := range line.simple {
		if s.words != nil && s.words[0] == "cd" || slices.ContainsFunc(candidates, func(r rule) bool { return r.ofTool(c.Tool) && r.begins(s) }) {
			continue // allows decides about cd
		}
		words := firstWords(s)
		if words == "" {
			return nil, ""
		}
		r, err := parseRule(fmt.Sprintf("%s(%s)", c.Tool, words))
		if err != nil {
			return nil, ""
		}
		candidates = append(candidates, r)
		all, rules = append(all, words), append(rules, fmt.Sprintf("%s(%s)", c.Tool, words))
	}
	if !allows(candidates, project, c, line) {
		return nil, ""
	}
	return rules, strings.Join(all, ", ")
}

// firstWords returns the first words of a command that say what kind of command it is; "" if they say too
// little to be a rule.
func firstWords(c simpleCommand) string {
	if len(c.words) == 0 {
		return ""
	}
	n, name := 1, path.Base(c.words[0])
	word := func(i int) string {
		if i < len(c.words) {
			return c.words[i]
		}
		return "-"
	}
	switch {
	case runsOthers(name) || doesAnything(name):
		return ""
	case hasCommands(name):
		if n = 2; slices.Contains([]string{"run", "exec", "x", "dlx"}, word(1)) {
			if n = 3; interprets(word(2)) || runsOthers(word(2)) || doesAnything(word(2)) {
				return ""
			}
		}
	case interprets(name):
		if n = 2; word(1) == "-m" && strings.HasPrefix(name, "python") {
			if n = 3; strings.HasPrefix(word(2), "-") {
				return ""
			}
			return strings.Join(c.words[:n], " ")
		}
	}
	if n > 1 && strings.HasPrefix(word(n-1), "-") || slices.ContainsFunc(c.words[:min(n, len(c.words))], notSimple) {
		return ""
	}
	return strings.Join(c.words[:n], " ")
}

// notSimple reports whether a word cannot be written in a rule as it is.
func notSimple(word string) bool {
	return word == "" || strings.ContainsFunc(word, func(r rune) bool {
		return !(r == '.' || r == '/' || r == '_' || r == '-' || r == '+' || r == ':' || r == '@' || r == ',' || r == '%' ||
			r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	})
}

// hasCommands reports whether the word after a program's name is one of its commands.
func hasCommands(name string) bool {
	return slices.Contains([]string{"git", "go", "npm", "pnpm", "yarn", "bun", "cargo", "docker", "podman", "kubectl", "helm", "make", "just", "pip", "pip3", "uv",
		"poetry", "brew", "apt", "apt-get", "gh", "tape", "systemctl", "terraform", "mvn", "gradle", "dotnet", "bundle", "rails", "composer", "mix", "rustup"}, name)
}

// interprets reports whether a program runs the file that its first argument names.
func interprets(name string) bool {
	return isShell(name) || slices.Contains([]string{"python", "python2", "python3", "node", "deno", "ruby", "perl", "php", "lua", "Rscript", "tclsh"}, name)
}

// doesAnything reports whether a program's name says too little for a rule, because the program can destroy
// or send anything.
func doesAnything(name string) bool {
	return slices.Contains([]string{"rm", "rmdir", "mv", "dd", "shred", "truncate", "chmod", "chown", "chgrp", "ln", "kill", "pkill", "killall", "curl", "wget",
		"scp", "sftp", "rsync", "nc", "ncat", "socat", "awk", "gawk", "sed", "tee", "vim", "vi", "ed", "crontab", "at", "mount", "umount", "tar"}, name)
}

// glob reports whether a name matches a pattern, in which * stands for anything in one folder and ** for
// any folders.
func glob(pattern, name string) bool {
	return globParts(strings.Split(pattern, "/"), strings.Split(name, "/"))
}

func globParts(pattern, name []string) bool {
	for len(pattern) > 0 {
		if pattern[0] == "**" {
			for i := range len(name) + 1 {
				if globParts(pattern[1:], name[i:]) {
					return true
				}
			}
			return false
		}
		if len(name) == 0 {
			return false
		}
		if ok, err := path.Match(pattern[0], name[0]); !ok || err != nil {
			return false
		}
		pattern, name = pattern[1:], name[1:]
	}
	return len(name) == 0
}
