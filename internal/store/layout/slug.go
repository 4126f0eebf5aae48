package layout

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The lengths of a slug and of the hash at its end.
const (
	SlugLimit  = 64 // bytes, the hash of a tape's slug included
	hashDigits = 8
)

// Slugify makes a name usable as a file name and in a ref on every system: Unicode letters, digits, '.',
// '_' and '-' stay, everything else becomes '-', and so does what git refuses in a ref ("..", a final
// "." or ".lock"). The result has at most limit bytes.
func Slugify(name string, limit int) string {
	var b strings.Builder
	for _, r := range name {
		switch {
		case r == utf8.RuneError:
			r = '-'
		case r == '.' && strings.HasSuffix(b.String(), "."):
			r = '-'
		case r == '.' || r == '_' || r == '-' || unicode.IsLetter(r) || unicode.IsDigit(r):
		default:
			r = '-'
		}
		if b.Len()+utf8.RuneLen(r) > limit {
			break
		}
		b.WriteRune(r)
	}
	s := b.String()
	if strings.HasSuffix(s, ".") {
		s = s[:len(s)-1] + "-"
	}
	if stem, ok := strings.CutSuffix(s, ".lock"); ok {
		s = stem + "-lock"
	}
	return s
}

// FolderName returns the name of a phase's folder: its number and its anchor's slug.
func FolderName(seq int, anchor string) string {
	return fmt.Sprintf("%03d_%s", seq, Slugify(anchor, SlugLimit))
}

// ParseFolder is the inverse of FolderName.
func ParseFolder(folder string) (seq int, slug string, ok bool) {
	number, slug, found := strings.Cut(folder, "_")
	if !found || len(number) < 3 || strings.ContainsAny(slug, `/\`) {
		return 0, "", false
	}
	seq, err := strconv.Atoi(number)
	if err != nil || seq < 1 || fmt.Sprintf("%03d", seq) != number {
		return 0, "", false
	}
	return seq, slug, true
}

// TapeSlug returns the name of a tape in refs and folders. Two names do not get the same slug, not even on a
// file system that folds case: a hash of the name is added unless the slug is the name and IsPlainSlug.
func TapeSlug(name string) string {
	plain := Slugify(name, SlugLimit)
	if plain == name && IsPlainSlug(plain) {
		return plain
	}
	sum := sha256.Sum256([]byte(name))
	short := strings.TrimLeft(Slugify(name, SlugLimit-1-hashDigits), "-.")
	if short == "" {
		short = "tape"
	}
	return short + "-" + hex.EncodeToString(sum[:])[:hashDigits]
}

// IsPlainSlug reports whether a slug needs no hash: it has no upper case, begins with neither '-' nor '.',
// does not end in something like a hash, and file systems have only one spelling of it.
func IsPlainSlug(s string) bool {
	if s == "" || s[0] == '-' || s[0] == '.' || EndsInHash(s) || IsDeviceName(s) {
		return false
	}
	for _, r := range s {
		if unicode.ToLower(r) != r {
			return false
		}
		if r > unicode.MaxASCII && !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) {
			// Some of these can be encoded in two ways, which some file systems treat as the same name.
			return false
		}
	}
	return true
}

// EndsInHash reports whether a slug ends in something like the hash of TapeSlug.
func EndsInHash(s string) bool {
	dash := len(s) - hashDigits - 1
	return dash >= 0 && s[dash] == '-' && strings.Trim(s[dash+1:], "0123456789abcdef") == ""
}

// IsDeviceName reports whether Windows may reserve a name for a device. The extension does not matter, nor
// does the character after com or lpt.
func IsDeviceName(s string) bool {
	stem, _, _ := strings.Cut(strings.ToLower(s), ".")
	switch stem {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(stem) == 4 && (strings.HasPrefix(stem, "com") || strings.HasPrefix(stem, "lpt"))
}

// CheckNewName is CheckName for a new name, which must also have a visible character. Names of existing tapes
// may have none. Errors: ErrInvalid.
func CheckNewName(what, name string) error {
	err := CheckName(what, name)
	if err == nil && strings.IndexFunc(name, func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) }) < 0 {
		err = Invalid("", "the name of %s must not be blank: %q has only spaces or characters that do not show", what, name)
	}
	return err
}

// CheckName refuses what cannot name a tape or an anchor. what is "a tape" or "an anchor". Errors: ErrInvalid.
func CheckName(what, name string) error {
	const limit = 64 << 10
	switch {
	case name == "":
		return Invalid("", "the name of %s must not be empty", what)
	case !utf8.ValidString(name):
		return Invalid("", "the name of %s is not valid UTF-8", what)
	case len(name) > limit:
		return Invalid("", "the name of %s has %d bytes; the limit is %d", what, len(name), limit)
	}
	return nil
}
