package gitconfig

import (
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// The conditions of includeIf, see git-config(1), "Conditional includes". A condition that git does not know, or knows
// since a later version, is not met.

// conditionMet reports whether the condition of an includeIf in the file name is true.
func (l *configLoader) conditionMet(name, condition string) bool {
	kind, pattern, _ := strings.Cut(condition, ":")
	switch kind {
	case "gitdir", "gitdir/i":
		return slices.ContainsFunc(l.gitDirs(), func(dir string) bool { return l.inGitDir(name, pattern, dir, kind == "gitdir/i") })
	case "onbranch":
		if strings.HasSuffix(pattern, "/") {
			pattern += "**"
		}
		return slices.ContainsFunc(l.gitDirs(), func(dir string) bool {
			branch, ok := branchIn(dir)
			return ok && matchSlashes(pattern, branch)
		})
	case "hasconfig":
		url, ok := strings.CutPrefix(pattern, "remote.*.url:")
		return ok && !l.noURLs && slices.ContainsFunc(l.remotes(), func(u string) bool { return matchSlashes(url, u) })
	}
	return false
}

func (l *configLoader) gitDirs() []string {
	if l.project == "" {
		return []string{l.gitDir}
	}
	return []string{l.gitDir, l.project}
}

func (l *configLoader) inGitDir(name, pattern, gitDir string, fold bool) bool {
	pattern = filepath.ToSlash(ExpandHome(pattern, l.home))
	if rest, ok := strings.CutPrefix(pattern, "./"); ok {
		pattern = filepath.ToSlash(filepath.Dir(name)) + "/" + rest
	} else if !path.IsAbs(pattern) && !filepath.IsAbs(filepath.FromSlash(pattern)) {
		pattern = "**/" + pattern
	}
	if strings.HasSuffix(pattern, "/") {
		pattern += "**"
	}
	dirs := []string{gitDir}
	if real, err := filepath.EvalSymlinks(gitDir); err == nil && real != gitDir {
		dirs = append(dirs, real)
	}
	return slices.ContainsFunc(dirs, func(dir string) bool {
		dir = filepath.ToSlash(dir)
		if fold {
			pattern, dir = strings.ToLower(pattern), strings.ToLower(dir)
		}
		return matchSlashes(pattern, dir)
	})
}

// branchIn returns the branch that is checked out.
func branchIn(gitDir string) (string, bool) {
	raw, err := ReadFile(filepath.Join(gitDir, "HEAD"))
	if err != nil {
		return "", false
	}
	return strings.CutPrefix(strings.TrimSpace(string(raw)), "ref: refs/heads/")
}

// remotes returns the addresses of all remotes, read without the files that this condition would include: as in git,
// they cannot add any.
func (l *configLoader) remotes() []string {
	if l.urls == nil {
		l.urls = &[]string{}
		for _, dir := range l.gitDirs() {
			all := configLoader{gitDir: dir, home: l.home, noURLs: true, owner: func() bool { return false }}
			if dir == l.gitDir {
				all.config, all.owner = l.config, l.owner
			}
			all.load()
			for _, e := range all.entries {
				if e.Section == "remote" && e.Key == "url" && e.Subsection != "" {
					*l.urls = append(*l.urls, e.Value)
				}
			}
		}
	}
	return *l.urls
}

// matchSlashes reports whether a text matches a pattern of parts between slashes.
func matchSlashes(pattern, text string) bool {
	pattern = strings.ReplaceAll(pattern, "[!", "[^")
	return matchPath(strings.Split(pattern, "/"), strings.Split(text, "/"))
}

// parameters yields the settings in GIT_CONFIG_PARAMETERS, in which git hands its options -c on: quoted for a shell,
// as 'name=value' or since git 2.31 as 'name'='value'. It ends where that is malformed.
func parameters(env string) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for rest := strings.TrimLeft(env, " "); rest != ""; rest = strings.TrimLeft(rest, " ") {
			name, after, ok := unquote(rest)
			if !ok {
				return
			}
			value := "true"
			if quoted, set := strings.CutPrefix(after, "="); set {
				if value, after = "", quoted; quoted != "" && quoted[0] == '\'' {
					if value, after, ok = unquote(quoted); !ok {
						return
					}
				}
			} else if before, v, set := strings.Cut(name, "="); set {
				name, value = before, v
			}
			if !yield(name, value) {
				return
			}
			rest = after
		}
	}
}

// unquote returns the text between single quotes at the beginning of s, in which \' and \! stand outside of quotes.
func unquote(s string) (text, rest string, ok bool) {
	var out strings.Builder
	for {
		if !strings.HasPrefix(s, "'") {
			return "", "", false
		}
		part, after, closed := strings.Cut(s[1:], "'")
		if !closed {
			return "", "", false
		}
		out.WriteString(part)
		if len(after) < 3 || after[0] != '\\' || after[1] != '\'' && after[1] != '!' || after[2] != '\'' {
			return out.String(), after, true
		}
		out.WriteByte(after[1])
		s = after[2:]
	}
}
