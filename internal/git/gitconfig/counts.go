package gitconfig

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"tape/internal/git/gitlock"
)

// A repository's own configuration may have come with the repository, from anybody. Some of its
// settings name programs that git runs, or places where git sends something. In a repository
// that is not the user's own, these do not count.

// Verdict says how a setting of a repository that is not the user's own is treated.
type Verdict int

// The verdicts. The list of harmless settings is right for the commands that this program runs,
// but not for others, such as git diff or git commit.
const (
	Refused    Verdict = iota // git is not run there: the setting is unknown, or cannot be overridden
	Overridden                // does not count, see [Config.Overrides]
	Harmless                  // counts
)

// Judge says how a setting is treated. It depends on the entry alone.
func Judge(e Entry) Verdict {
	name := e.Section + "." + e.Key
	switch {
	case slices.Contains(overridden, name), e.Section == "gpg":
		return Overridden
	case slices.Contains(signSettings, name):
		if configTrue(e.Value) {
			return Overridden
		}
		return Harmless
	case name == "receive.denycurrentbranch" && strings.EqualFold(e.Value, "updateInstead"):
		return Refused // files are checked out, by the repository's filters
	case name == "credential.helper" && !strings.Contains(e.Subsection, "="):
		return Overridden
	case e.isOurInclude(), slices.Contains(harmlessSections, e.Section), slices.Contains(harmlessKeys(e.Section), e.Key):
		return Harmless
	}
	return Refused
}

var (
	signSettings = []string{"commit.gpgsign", "tag.gpgsign", "tag.forcesignannotated"}
	overridden   = []string{"core.fsmonitor", "core.hookspath", "core.sshcommand", "core.askpass", "core.alternaterefscommand",
		"push.gpgsign", "user.signingkey"}
	// No command that is run here uses a setting of these sections.
	harmlessSections = []string{"add", "advice", "am", "apply", "author", "blame", "branch", "checkout", "clean", "color", "column", "commit",
		"committer", "diff", "difftool", "feature", "filter", "format", "grep", "gui", "i18n", "index", "init", "interactive", "log", "merge",
		"mergetool", "notes", "pack", "pretty", "pull", "rebase", "rerere", "sequence", "stash", "status", "submodule", "tag", "user", "versionsort"}
)

// harmlessKeys are the keys of a section that are harmless. (A map would be built at each
// start.)
func harmlessKeys(section string) []string {
	switch section {
	case "core":
		return []string{"repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode", "symlinks", "longpaths",
			"autocrlf", "eol", "safecrlf", "quotepath", "splitindex", "untrackedcache", "trustctime", "checkstat", "preloadindex", "fscache",
			"compression", "loosecompression", "fsync", "fsyncmethod", "fsyncobjectfiles", "bigfilethreshold", "abbrev", "commentchar",
			"commentstring", "sharedrepository", "protecthfs", "protectntfs", "multipackindex", "commitgraph", "warnambiguousrefs", "hidedotfiles",
			"whitespace", "sparsecheckout", "sparsecheckoutcone", "usereplacerefs", "packedgitlimit", "packedgitwindowsize", "deltabasecachelimit",
			"packedrefstimeout", "filesreflocktimeout", "notesref", "disambiguate", "attributesfile", "excludesfile", "editor", "pager"}
	case "remote":
		return []string{"url", "pushurl", "fetch", "push", "tagopt", "prune", "prunetags", "skipdefaultupdate", "skipfetchall", "followremotehead", "pushdefault"}
	case "extensions":
		return []string{"noop", "worktreeconfig", "objectformat", "refstorage", "relativeworktrees", "preciousobjects"}
	case "gc":
		return []string{"auto", "autodetach", "autopacklimit", "aggressivedepth", "aggressivewindow", "bigpackthreshold", "cruftpacks", "maxcruftsize",
			"logexpiry", "packrefs", "pruneexpire", "reflogexpire", "reflogexpireunreachable", "rerereresolved", "rerereunresolved",
			"worktreepruneexpire", "writecommitgraph"}
	case "repack":
		return []string{"usedeltabaseoffset", "packkeptobjects", "usedeltaislands", "writebitmaps", "updateserverinfo"}
	case "fetch":
		return []string{"prune", "prunetags", "fsckobjects", "unpacklimit", "parallel", "writecommitgraph", "output", "showforcedupdates", "recursesubmodules", "negotiationalgorithm"}
	case "push":
		return []string{"default", "autosetupremote", "followtags", "recursesubmodules", "useforceifincludes", "negotiate", "usebitmaps"}
	case "uploadpack":
		return []string{"allowfilter", "allowanysha1inwant", "allowtipsha1inwant", "allowreachablesha1inwant", "allowrefinwant", "hiderefs", "keepalive"}
	case "transfer":
		return []string{"fsckobjects", "unpacklimit", "hiderefs"}
	case "http":
		return []string{"postbuffer", "lowspeedlimit", "lowspeedtime", "version", "maxrequests", "getanyfile", "uploadpack", "receivepack"}
	case "credential":
		return []string{"username", "usehttppath"}
	case "maintenance":
		return []string{"auto", "strategy"}
	case "receive":
		return []string{"autogc", "denycurrentbranch", "denynonfastforwards", "denydeletes", "denydeletecurrent", "fsckobjects", "unpacklimit", "maxinputsize",
			"advertiseatomic", "advertisepushoptions", "updateserverinfo", "keepalive", "shallowupdate"}
	}
	return nil
}

// isOurInclude reports whether the entry includes our own file. Only this include is followed in
// every repository.
func (e Entry) isOurInclude() bool {
	return e.Section == includeEntry.Section && e.Subsection == includeEntry.Subsection && e.Key == includeEntry.Key && e.Value == includeEntry.Value
}

// Own reports whether the repository is the user's own, so that all of its settings count.
func (c *Config) Own() bool { return c.own != nil && c.own(c.gitDir) }

// dropIgnored removes the repository's own settings that do not count. names has those that are
// overridden, and not those that are refused: with these, git is not run at all.
func dropIgnored(entries []Entry) (kept []Entry, names []string) {
	for _, e := range entries {
		verdict := Harmless
		if e.Local && e.Section+"."+e.Key != "remote.promisor" { // which can only make us refuse
			verdict = Judge(e)
		}
		if verdict == Harmless {
			kept = append(kept, e)
		} else if verdict == Overridden && !slices.Contains(names, e.Name()) {
			names = append(names, e.Name())
		}
	}
	return kept, names
}

// Overrides returns settings, in the form of git's option -c, that override those of a
// repository that is not the user's own. local has the repository's settings.
func (c *Config) Overrides(local []Entry) []string {
	users, _ := c.Load() // without those of the repository's settings that are overridden here
	value := func(section, key, otherwise string) string {
		if v, ok := lookup(users, section, "", key); ok {
			return v
		}
		return otherwise
	}
	ssh := "ssh"
	if program := os.Getenv("GIT_SSH"); program != "" {
		ssh = "'" + strings.ReplaceAll(program, "'", `'\''`) + "'"
	}
	out := []string{"core.hooksPath=" + value("core", "hookspath", os.DevNull), "core.fsmonitor=" + value("core", "fsmonitor", "")}
	helpers, hasGPG := false, false
	for _, e := range local {
		hasGPG = hasGPG || e.Section == "gpg"
		switch e.Section + "." + e.Key {
		case "core.sshcommand":
			out = append(out, "core.sshCommand="+value("core", "sshcommand", ssh))
		case "core.askpass":
			out = append(out, "core.askPass="+value("core", "askpass", ""))
		case "core.alternaterefscommand":
			out = append(out, "core.alternateRefsCommand="+value("core", "alternaterefscommand", ":"))
		case "push.gpgsign":
			out = append(out, "push.gpgSign="+value("push", "gpgsign", "false"))
		case "credential.helper":
			helpers = true
		}
	}
	if hasGPG { // a push is the only thing that git itself signs here
		out = append(out, "push.gpgSign=false")
	}
	if helpers { // an empty value clears the helpers before it
		out = append(out, "credential.helper=")
		for _, e := range users {
			if e.Section == "credential" && e.Key == "helper" {
				out = append(out, e.Name()+"="+e.Value)
			}
		}
	}
	return out
}

// maxFile is the limit, in bytes, for a small file of a repository.
const maxFile = 4 << 20

// ReadFile reads a small regular file of a repository. It refuses devices, pipes and large
// files.
func ReadFile(name string) ([]byte, error) {
	st, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Size() > maxFile {
		return nil, fmt.Errorf("%s is not a regular file, or is longer than %d bytes", name, maxFile)
	}
	return os.ReadFile(name)
}

// errNul says that a file has a NUL byte, which git reads in another way than we do.
var errNul = errors.New("there is a NUL byte in it")

// IsInclude reports whether a setting makes git read another file.
func (e Entry) IsInclude() bool { return e.Section == "include" || e.Section == "includeif" }

// EntryOf parses a setting of a repository as git lists it: its name, section.key or section.subsection.key, and its
// value. It panics if the name has no dot.
func EntryOf(name, value string) Entry {
	e := Setting{name, value}.entry()
	e.Local = true
	return e
}

// OwnFile is the name of our file of settings below a .git folder.
const OwnFile = gitlock.OwnDir + "/" + ownFile
