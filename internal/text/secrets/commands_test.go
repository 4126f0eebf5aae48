package secrets

import (
	"encoding/base64"
	"strings"
	"testing"

	"tape/internal/testkit"
	"tape/internal/text/jsonl"
)

// TestPlacesOfPasswords: in a command or file with a place for a password, only the
// password is masked, and it has the same fingerprint however it is written there.
func TestPlacesOfPasswords(t *testing.T) {
	s, rng := New(), testkit.Random(t)
	word := "Tr0ub4dor&" + made(rng, digits, 2) + "q"
	login := base64.StdEncoding.EncodeToString([]byte("jonas:" + word))
	fingerprints := map[string]string{} // by rule and secret
	for _, c := range []struct{ before, secret, after string }{
		{"curl -u jonas:", word, " https://git.internal"}, {"curl -ujonas:", word, ""}, {"curl -u 'jonas:", word, "' x"}, {`curl --user "jonas:`, word, `" x`},
		{"`curl -u jonas:", word, "`"}, {"$(curl --proxy-user=jonas:", word, ")"}, {"curl -u jonas:", word, "|jq"}, {"curl -u jonas:", word, "; ls"}, {`curl -u jonas:'`, word, `'`},
		{`"curl -u \"jonas:`, word, `\" x"`}, {"curl -u jonas:", word, `\nls`}, {"curl -u a: -U jonas:", word, " x"}, {"curl -X GET \\\n --user jonas:", word, " \\\n x"},
		{"sshpass -p ", word, " ssh host"}, {"sshpass -p'", word, "' ssh host"},
		{"machine git.internal login jonas password ", word, ""}, {"machine a\n\tlogin jonas\n\tpassword ", word, "\nmachine b\n\tlogin c\n"}, {`echo "default login jonas password `, word, `" > f`},
		{"docker: \"auths\": {\"a\": {\"auth\": \"", login, "\"}}"}, {`docker: \"auths\": {\"a\": {\"auth\": \"`, login, `\"}}`}, {"Authorization: Basic ", login, ""},
		{"define('DB_PASSWORD', '", word, "');"}, {`setenv(\"DB_PASSWORD\", \"`, word, `\", 1)`}, {`if password == "`, word, `" {`},
	} {
		text := c.before + c.secret + c.after
		out, found := s.Mask(jsonl.AppendString(nil, text), nil)
		if len(found) != 1 {
			t.Errorf("found %q in %q, want one secret", rulesOf(found), text)
			continue
		}
		if want := string(jsonl.AppendString(nil, c.before+found[0].Mark()+c.after)); string(out) != want {
			t.Errorf("masked %s, want %s", out, want)
		}
		if key := found[0].Rule + " " + c.secret; fingerprints[key] == "" {
			fingerprints[key] = found[0].Fingerprint
		} else if fingerprints[key] != found[0].Fingerprint {
			t.Errorf("fingerprint %s in %q, want %s as in other places", found[0].Fingerprint, text, fingerprints[key])
		}
	}
	if len(fingerprints) != 4 {
		t.Errorf("found %d pairs of rule and secret, want 4: a command, a netrc file, a header and an assignment", len(fingerprints))
	}
	// A token with a shape is found by its shape, wherever it is.
	token := "ghp_" + made(rng, alnums, 36)
	for _, text := range []string{"curl -u jonas:" + token, "sshpass -p " + token, "machine a login b password " + token, "define('TOKEN', '" + token + "')"} {
		if found := rulesOf(s.Text([]byte(text))); strings.Join(found, " ") != "github-token" {
			t.Errorf("found %q in %q, want github-token", found, text)
		}
	}
}
