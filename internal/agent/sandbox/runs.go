package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/git/gitconfig"
)

// repository is what decides whether git takes a folder for a repository, and what it runs because of it.
type repository struct {
	id     identity
	stores [2]identity     // of the folders that stores names
	parts  map[string]part // by path
	runs   []string        // in words: settings and hooks, sorted
	valid  bool            // git takes it for one
}

// part is a file or a link; the zero value is a path where nothing is.
type part struct {
	mode fs.FileMode
	text string // the content, or where the link leads
}

// maxIncludes bounds how many files a configuration includes.
const maxIncludes = 100

// read returns what decides about the repository in a folder.
func (w *watch) read(git string) repository {
	r := repository{parts: map[string]part{}, valid: valid(git)}
	if info, err := os.Lstat(git); err == nil {
		r.id = identityOf(info)
	}
	for i, name := range stores {
		if info, err := os.Lstat(filepath.Join(commonOf(git), name)); err == nil {
			r.stores[i] = identityOf(info)
		}
	}
	r.add(filepath.Join(git, headFile))
	for _, dir := range slices.Compact([]string{git, commonOf(git)}) {
		w.readFolder(&r, dir)
	}
	if p := r.add(filepath.Join(git, commonDir)); p.mode != 0 && !w.writes(commonOf(git)) {
		r.runs = append(r.runs, commonDir+" "+p.text)
	}
	for line := range strings.Lines(r.add(filepath.Join(git, "rebase-merge", "git-rebase-todo")).text) {
		if words := strings.Fields(line); len(words) > 0 && (words[0] == "exec" || words[0] == "x") {
			r.runs = append(r.runs, "rebase "+strings.Join(words, " "))
		}
	}
	slices.Sort(r.runs)
	r.runs = slices.Compact(r.runs)
	return r
}

// readFolder adds the configuration and the hooks in a folder.
func (w *watch) readFolder(r *repository, dir string) {
	for _, name := range []string{configFile, worktreeConfig} {
		path := filepath.Join(dir, name)
		if p := r.add(path); p.mode&fs.ModeSymlink != 0 {
			r.runs = append(r.runs, name+" is a link to "+p.text)
		}
		w.readConfig(r, path)
	}
	hooks := filepath.Join(dir, hooksDir)
	p := r.add(hooks)
	if p.mode&fs.ModeSymlink != 0 {
		r.runs = append(r.runs, hooksDir+" is a link to "+p.text)
	}
	list, _ := os.ReadDir(hooks) // git cannot run what cannot be read either
	for _, e := range list {
		if strings.HasSuffix(e.Name(), ".sample") || strings.Contains(e.Name(), aside) {
			continue
		}
		if p.mode&fs.ModeSymlink != 0 {
			continue // as the project's other files
		}
		if h := r.add(filepath.Join(hooks, e.Name())); h.mode&(fs.ModeSymlink|0o111) != 0 && !h.mode.IsDir() {
			r.runs = append(r.runs, fmt.Sprintf("hook %s %s", e.Name(), h.text))
		}
	}
}

// readConfig adds the settings of a file that may run something, and of the files that it includes and that commands
// may write.
func (w *watch) readConfig(r *repository, path string) {
	raw, err := readRegular(path)
	if os.IsNotExist(err) {
		return
	}
	entries, parseErr := gitconfig.Entries(raw)
	if err != nil || parseErr != nil {
		r.runs = append(r.runs, filepath.Base(path)+" that cannot be read: "+string(raw))
	}
	for _, e := range entries {
		if harmless(e) && !w.leadsOut(filepath.Dir(path), e) || e.Section == "core" && e.Key == "worktree" && w.writes(resolved(under(filepath.Dir(path), e.Value))) {
			continue
		}
		r.runs = append(r.runs, e.Name()+" = "+e.Value)
		if !e.IsInclude() || e.Key != "path" {
			continue
		}
		to := under(filepath.Dir(path), gitconfig.ExpandHome(e.Value, gitconfig.HomeDir()))
		if _, done := r.parts[to]; !done && len(r.parts) < maxIncludes && w.writes(resolved(to)) {
			r.add(to)
			w.readConfig(r, to)
		}
	}
}

// leadsOut reports whether a setting is the address of a repository in the folders for temporary files and caches, which
// are not looked at: a push runs its hooks.
func (w *watch) leadsOut(git string, e gitconfig.Entry) bool {
	if e.Section != "remote" && e.Section != "branch" && e.Section != "submodule" || e.Key == "fetch" || e.Key == "merge" {
		return false
	}
	to := strings.TrimPrefix(e.Value, "file://")
	return strings.Contains(to, magic) || slices.ContainsFunc(w.others, func(dir string) bool {
		return isIn(follow(git, to), dir) || isIn(follow(filepath.Dir(git), to), dir)
	})
}

// under returns a path that is meant below a folder, unless it is absolute.
func under(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// add adds a path, and returns what is there.
func (r *repository) add(path string) (p part) {
	defer func() { r.parts[path] = p }()
	info, err := os.Lstat(path)
	if err != nil {
		return part{}
	}
	p.mode = info.Mode()
	switch {
	case p.mode&fs.ModeSymlink != 0:
		p.text, _ = os.Readlink(path)
	case p.mode.IsRegular():
		raw, err := readRegular(path)
		if p.text = string(raw); err != nil {
			p.text = err.Error()
		}
	}
	return p
}

// harmless reports whether a setting makes git neither run a program nor read other settings, whatever its value is.
// What is not known to be harmless is not.
func harmless(e gitconfig.Entry) bool {
	value := strings.ToLower(e.Value)
	switch name := e.Section + "." + e.Key; e.Section {
	case "core":
		return slices.Contains([]string{"repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode", "symlinks", "longpaths", "autocrlf", "eol",
			"safecrlf", "quotepath", "untrackedcache", "compression", "sharedrepository", "sparsecheckout", "sparsecheckoutcone", "protecthfs", "protectntfs", "abbrev", "hidedotfiles", "commitgraph", "multipackindex"}, e.Key) ||
			name == "core.fsmonitor" && slices.Contains([]string{"false", "no", "off", "0", ""}, value)
	case "extensions", "user", "author", "committer", "gc", "maintenance", "advice", "color", "index", "pack", "rerere", "status", "log", "format":
		return !slices.Contains([]string{"signingkey", "recentobjectshook"}, e.Key)
	case "remote":
		return slices.Contains([]string{"fetch", "push", "tagopt", "prune", "prunetags", "mirror", "promisor", "partialclonefilter", "skipdefaultupdate", "skipfetchall", "pushdefault"}, e.Key) ||
			(e.Key == "url" || e.Key == "pushurl") && !strings.Contains(value, "::")
	case "branch":
		return !strings.Contains(value, "::") && slices.Contains([]string{"remote", "pushremote", "merge", "rebase", "description", "autosetupmerge", "autosetuprebase", "vscode-merge-base", "gh-merge-base"}, e.Key)
	case "submodule":
		return slices.Contains([]string{"url", "active", "branch", "fetchrecursesubmodules", "ignore", "recurse", "shallow", "fetchjobs"}, e.Key) && !strings.Contains(value, "::") ||
			e.Key == "update" && !strings.HasPrefix(value, "!")
	case "init", "pull", "push", "fetch", "clone", "merge", "rebase":
		return slices.Contains([]string{"init.defaultbranch", "pull.rebase", "pull.ff", "push.default", "push.autosetupremote", "fetch.prune", "fetch.prunetags", "fetch.parallel", "clone.defaultremotename",
			"merge.conflictstyle", "merge.ff", "rebase.autostash", "rebase.autosquash"}, name)
	case "lfs":
		return name == "lfs.repositoryformatversion" || e.Key == "access"
	}
	return false
}
