package gitstore

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tape/internal/git/gitconfig"
)

// What git's setup.c knows of a repository's format: extensions that count in every version, and those
// that need version 1. An unknown extension counts from version 1 on, and says that whoever does not know
// it must not touch the repository.
var (
	plainExtensions = []string{"noop", "preciousobjects", "partialclone", "worktreeconfig"}
	laterExtensions = []string{"noop-v1", "objectformat", "refstorage", "relativeworktrees", "submodulepathconfig"}
)

// checkFormat refuses repositories that we would misread, or that we would damage for a git that knows
// more. Most have no [extensions] section; for these, reading one small file is enough.
func (r *Repo) checkFormat() error {
	if st, err := os.Stat(filepath.Join(r.gitDir, "shallow")); err == nil && st.Size() > 0 {
		return &UnsupportedError{Dir: r.gitDir, What: "the repository is a shallow clone: the beginning of its history is missing",
			Hint: "fetch the rest with: " + GitCommand(r.gitDir) + " fetch --unshallow"}
	}
	if err := r.checkLinks(); err != nil {
		return err
	}
	raw, err := gitconfig.ReadFile(filepath.Join(r.gitDir, "config"))
	if err != nil {
		return fmt.Errorf("open repository %s: %w", r.gitDir, err)
	}
	lower := bytes.ToLower(raw)
	r.bare = maybeBare(lower)
	if !bytes.Contains(lower, []byte("extensions")) && knownVersion(lower) {
		return nil
	}
	// Git looks only into this file, not into what it includes.
	entries, err := gitconfig.Entries(raw)
	if err != nil {
		return nil //nolint:nilerr // whoever reads a setting says so, with the line
	}
	version := 0
	for _, e := range entries {
		if !e.IsVersion() {
			continue
		}
		if version, err = strconv.Atoi(e.Value); err != nil {
			version = 1 // damaged, see gitconfig.Damage: all extensions count
		} else if version < 0 || version > 1 {
			return r.newerFormat("its format is version " + strconv.Quote(e.Value) + ", and tape knows versions 0 and 1")
		}
	}
	for _, e := range entries {
		if e.Section != "extensions" || e.Subsection != "" {
			continue
		}
		if err := r.checkExtension(version, e); err != nil {
			return err
		}
	}
	return nil
}

func (r *Repo) checkExtension(version int, e gitconfig.Entry) error {
	later := slices.Contains(laterExtensions, e.Key)
	switch {
	case e.Key == "objectformat" && !strings.EqualFold(e.Value, "sha1"):
		return &UnsupportedError{Dir: r.gitDir, What: "the repository uses " + e.Value + " object names; only sha1 is supported",
			Hint: "create the workspace with: git init --object-format=sha1"}
	case e.Key == "refstorage" && !strings.EqualFold(e.Value, "files"):
		return &UnsupportedError{Dir: r.gitDir, What: "the repository keeps its refs as " + e.Value + "; only plain ref files are supported",
			Hint: "convert it with: " + GitCommand(r.gitDir) + " refs migrate --ref-format=files"}
	case later && version == 0:
		return &UnsupportedError{Dir: r.gitDir, What: "its git configuration sets extensions." + e.Key + ", which needs format version 1, and says version 0",
			Hint: "if the extension is right: " + GitCommand(r.gitDir) + " config core.repositoryformatversion 1"}
	case version > 0 && !later && !slices.Contains(plainExtensions, e.Key):
		return r.newerFormat("it uses git's extension " + strconv.Quote(e.Key) + ", which tape does not know")
	}
	return nil
}

func (r *Repo) newerFormat(why string) error {
	return &UnsupportedError{Dir: r.gitDir, What: "nothing is read or written here: " + why,
		Hint: "the git that made the repository can copy it with git clone; otherwise a newer tape is needed"}
}

// knownVersion reports whether a configuration in small letters has no version of the format but 0 and 1.
func knownVersion(config []byte) bool {
	const key = "repositoryformatversion"
	for {
		_, rest, found := bytes.Cut(config, []byte(key))
		if !found {
			return true
		}
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		if value := string(bytes.Join(bytes.Fields(line), nil)); value != "=0" && value != "=1" {
			return false
		}
		config = rest
	}
}

// maybeBare reports whether the configuration has to be parsed to know if the repository is bare. Most
// say "bare = false" themselves.
func maybeBare(config []byte) bool {
	for line := range bytes.Lines(config) {
		if !bytes.Contains(line, []byte("bare")) {
			continue
		}
		if string(bytes.Join(bytes.Fields(line), nil)) != "bare=false" {
			return true
		}
	}
	return false
}

// Partial returns the error for a command that a partial clone cannot do, with the commands that make the
// clone a whole one; nil if the repository is not a partial clone of the remote.
func (r *Repo) Partial(remote string) *UnsupportedError {
	named, _ := r.config.Value("extensions", "", "partialclone")
	_, filtered := r.config.Value("remote", remote, "partialclonefilter")
	if remote == "" || named != remote && !filtered && !r.config.Bool("remote", remote, "promisor") {
		return nil
	}
	git := GitCommand(r.gitDir)
	unset := "remote." + remote + ".promisor; " + git + " config --unset remote." + remote + ".partialclonefilter" // which the fetch may set
	if named == remote {
		unset += "; " + git + " config --unset extensions.partialClone"
	}
	return &UnsupportedError{Dir: r.gitDir, What: "the repository is a partial clone: parts of its history are missing",
		Hint: fmt.Sprintf("fetch the rest with: %[1]s fetch %[2]s && %[1]s fetch --refetch --no-filter %[2]s && %[1]s config --unset %[3]s", git, remote, unset)}
}

// GitCommand returns how a git command for a repository begins, so that it works in any folder.
func GitCommand(gitDir string) string { return "git -C " + quoteDir(gitDir) }

// quoteDir returns the folder around a .git folder, or a bare repository, in quotation marks for a shell.
func quoteDir(gitDir string) string {
	dir := gitDir
	if filepath.Base(dir) == ".git" {
		dir = filepath.Dir(dir)
	}
	return "'" + strings.ReplaceAll(dir, "'", `'\''`) + "'"
}
