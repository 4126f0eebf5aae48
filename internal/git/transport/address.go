package transport

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"tape/internal/git/gitstore"
)

// CheckRemoteName says what is wrong with the name of a remote. The name becomes a part of refs, so git's rules for
// refs apply.
func CheckRemoteName(name string) error {
	err := gitstore.CheckRefName("refs/remotes/" + name)
	switch {
	case strings.HasPrefix(name, "-"):
		err = errors.New("it begins with a dash")
	case strings.ContainsAny(name, "\"\\"):
		err = errors.New("it has a quotation mark or backslash")
	}
	return gitstore.Wrap(err, "bad name %q of a remote", name)
}

// schemes are the URL schemes that are accepted.
var schemes = []string{"file", "ssh", "git+ssh", "ssh+git", "http", "https", "git"}

// CheckURL accepts only paths, host:path, and URLs with a scheme of file, ssh, http, https or git. It refuses what git
// would take for an option or for a program to run.
func CheckURL(address string) error {
	bad := func(why string) error { return fmt.Errorf("bad address %q of a remote: %s", MaskURL(address), why) }
	switch {
	case address == "":
		return errors.New("the address of the remote is empty")
	case strings.HasPrefix(address, "-"):
		return bad("it begins with a dash")
	case strings.ContainsFunc(address, func(c rune) bool { return c < ' ' || c == 0x7f }):
		return bad("it has a control character")
	}
	if helper, _, ok := strings.Cut(address, "::"); ok && !strings.ContainsAny(helper, "/[@.") {
		return bad("addresses that name a helper program are not allowed")
	}
	scheme, rest, ok := strings.Cut(address, "://")
	if ok && !strings.ContainsAny(scheme, "/:") {
		if !slices.Contains(schemes, strings.ToLower(scheme)) {
			return bad("use a path, file://, ssh://, https:// or user@host:path")
		}
		if strings.HasPrefix(rest, "-") {
			return bad("the host begins with a dash")
		}
		if dir, ok := LocalDir(address); ok && !filepath.IsAbs(dir) {
			return bad("write file:///path, without a host")
		}
	}
	if host, path, ok := scpAddress(address); ok {
		_, host = cutUser(host)
		if strings.HasPrefix(host, "-") || strings.HasPrefix(path, "-") {
			return bad("the host or path begins with a dash")
		}
	}
	return nil
}

func cutUser(s string) (user, host string) {
	if at := strings.LastIndexByte(s, '@'); at >= 0 {
		return s[:at], s[at+1:]
	}
	return "", s
}

// scpAddress splits host:path, git's short form of an ssh address.
func scpAddress(address string) (host, path string, ok bool) {
	if strings.Contains(address, "://") {
		return "", "", false
	}
	host, path, ok = strings.Cut(address, ":")
	if ok && strings.Contains(host, "[") { // IPv6 in brackets
		end := strings.Index(address, "]:")
		if end < 0 {
			return "", "", false
		}
		host, path = address[:end+1], address[end+2:]
	}
	if !ok || host == "" || strings.ContainsAny(host, `/\`) || runtime.GOOS == "windows" && len(host) == 1 {
		return "", "", false
	}
	return host, path, true
}

// isLocalPath reports whether an address is a path. A file:// URL is not.
func isLocalPath(address string) bool {
	_, _, scp := scpAddress(address)
	return !scp && !strings.Contains(address, "://")
}

// LocalDir returns the folder that an address names, if that is a path or a file:// URL.
func LocalDir(address string) (dir string, ok bool) {
	if isLocalPath(address) {
		return address, true
	}
	if len(address) < len("file://") || !strings.EqualFold(address[:len("file://")], "file://") {
		return "", false
	}
	dir = address[len("file://"):]
	if un, err := url.PathUnescape(dir); err == nil {
		dir = un
	}
	if runtime.GOOS == "windows" {
		dir = strings.TrimPrefix(dir, "/")
	}
	return filepath.FromSlash(dir), true
}

func isHTTP(address string) bool {
	scheme, _, ok := strings.Cut(strings.ToLower(address), "://")
	return ok && (scheme == "http" || scheme == "https")
}

// MaskURL replaces a password or token in an address, and the query of an HTTP address, by ***. Paths stay as they
// are.
func MaskURL(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return maskScp(address)
	}
	host, path, slash := strings.Cut(rest, "/")
	user, host := cutUser(host)
	http := isHTTP(address)
	out := scheme + "://"
	if user != "" {
		out += maskUser(user, http) + "@"
	}
	if out += host; slash {
		out += "/" + path
	}
	if before, _, query := strings.Cut(out, "?"); query && http {
		out = before + "?" + masked
	}
	return out
}

// masked replaces a secret.
const masked = "***"

// maskUser masks the secret before an @. Over HTTP, a token may stand in place of the user's name, without a password
// or with a placeholder for it.
func maskUser(user string, http bool) string {
	name, pass, secret := strings.Cut(user, ":")
	switch {
	case http && (pass == "" || pass == "x-oauth-basic"):
		return masked
	case secret:
		return name + ":" + masked
	}
	return user
}

// maskScp masks the secret in an HTTP address without its scheme, which looks like host:path.
func maskScp(address string) string {
	host, path, ok := scpAddress(address)
	before, _, _ := strings.Cut(path, "/")
	if at := strings.LastIndexByte(before, '@'); ok && at >= 0 {
		return host + ":" + masked + path[at:]
	}
	return address
}
