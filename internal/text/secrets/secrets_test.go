package secrets

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tape/internal/testkit"
	"tape/internal/text/jsonl"
)

// These tests assemble secrets from parts and random characters, so that no scanner takes this
// file for a leak.

const (
	digits = "0123456789"
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	alnums = digits + lower + upper
)

// made returns n random characters that are no placeholder. From 12 on they have digits and
// letters of both cases, if the alphabet has them.
func made(rng *rand.Rand, alphabet string, n int) string {
	for {
		b := make([]byte, n)
		for i := range b {
			b[i] = alphabet[rng.IntN(len(alphabet))]
		}
		a := countBytes(b)
		if isDummy(b) || n >= 12 && (monotonous(b) || a.digits < 2 && strings.Contains(alphabet, "0") || a.lower == 0 && strings.Contains(alphabet, "b") || a.upper == 0 && strings.Contains(alphabet, "B")) {
			continue
		}
		return string(b)
	}
}

// key returns a value that passes every check for randomness.
func key(rng *rand.Rand, n int) string {
	for {
		if v := made(rng, alnums, n); isDense([]byte(v)) || n < 24 && isRandom([]byte(v)) {
			return v
		}
	}
}

func pem(rng *rand.Rand, label, newline string) string {
	b := "-----BEGIN " + label + "-----" + newline
	for range 5 {
		b += made(rng, alnums+"+/", 64) + newline
	}
	return b + "-----END " + label + "-----"
}

func token(rng *rand.Rand, claims string) string {
	enc := base64.RawURLEncoding.EncodeToString
	return enc([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + enc([]byte(claims)) + "." + made(rng, alnums, 20) + "-_" + made(rng, alnums, 20) + "x"
}

func rulesOf(found []Finding) []string {
	var out []string
	for _, f := range found {
		out = append(out, f.Rule)
	}
	return out
}

// TestShapes: a secret with a shape is found in any text, and text that is only similar is not.
func TestShapes(t *testing.T) {
	s, rng := New(), testkit.Random(t)
	for _, r := range table() {
		for _, text := range r.shapes {
			parts := parseShape(alphabets(), text)
			for _, longest := range []bool{false, true} {
				secret := example(rng, parts, longest)
				for _, around := range []string{"%s", "export X=%s\n", `{"a":"%s"}`, "see (%s), please", "line\\n%s\\nline", "?t%%3D%s&u=1"} {
					found := s.Text(fmt.Appendf(nil, around, secret))
					if got := rulesOf(found); !slices.Equal(got, []string{r.ID}) {
						t.Errorf("%s: shape %q: found %q in %q, want only this rule", r.ID, text, got, fmt.Sprintf(around, secret))
					} else if strings.Contains(found[0].Masked, secret) {
						t.Errorf("%s: the excerpt contains the secret: %q", r.ID, found[0].Masked)
					}
				}
			}
			for _, near := range nearMisses(rng, parts) {
				for _, f := range s.Text([]byte("it says " + near + " there")) {
					if f.Rule == r.ID {
						t.Errorf("%s: %q is found in %q", r.ID, text, near)
					}
				}
			}
		}
	}
}

func example(rng *rand.Rand, parts []part, longest bool) string {
	var b strings.Builder
	for _, p := range parts {
		if p.alphabet == nil {
			b.WriteString(p.literal)
			continue
		}
		n := p.min
		if longest {
			n = p.max
		}
		var alphabet []byte
		for _, c := range []byte(alnums) {
			if p.alphabet[c] {
				alphabet = append(alphabet, c)
			}
		}
		b.WriteString(made(rng, string(alphabet), n))
	}
	return b.String()
}

// nearMisses are texts that lack one property of a shape.
func nearMisses(rng *rand.Rand, parts []part) []string {
	good := example(rng, parts, false)
	head := parts[0].literal
	misses := []string{
		"A" + good,
		head + strings.Repeat("x", len(good)-len(head)),
		head + strings.Repeat("EXAMPLE", (len(good)-len(head))/7+1),
		head + "...",
		"${" + strings.ToUpper(strings.Trim(head, "-_.=/")) + "}",
	}
	last := parts[len(parts)-1]
	if last.alphabet != nil && len(parts) == 2 {
		misses = append(misses, good[:len(good)-1])
		if n := last.max; n < 300 {
			misses = append(misses, example(rng, parts, true)+"Z")
		}
	}
	return misses
}

// ruleCase has texts in which a rule finds one secret, and texts in which nothing is found.
type ruleCase struct {
	rule      string
	yes, none []string
}

func ruleCases(rng *rand.Rand) []ruleCase {
	hex32, hex40 := made(rng, digits+"abcdef", 32), made(rng, digits+"abcdef", 40)
	uuid := hex32[:8] + "-" + hex32[8:12] + "-4" + hex32[13:16] + "-a" + hex32[17:20] + "-" + hex32[20:]
	word := "Tr0ub4dor&" + made(rng, digits, 2) + "q"
	signs := "Zq" + made(rng, "2345678", 1) + "$ab(9)x*Q"
	k32, k40 := key(rng, 32), key(rng, 40)
	rsa := pem(rng, "RSA PRIVATE KEY", "\n")
	encode := base64.StdEncoding.EncodeToString
	basic := encode([]byte("jonas:" + word))
	auths := `{"auths": {"registry.internal": {"auth": "` + basic + `"}}}`
	return []ruleCase{
		{rulePrivateKey, []string{rsa, "x" + pem(rng, "PRIVATE KEY", `\n`), pem(rng, "OPENSSH PRIVATE KEY", "\r\n"), "  " + pem(rng, "EC PRIVATE KEY", "\n    "),
			pem(rng, "PGP PRIVATE KEY BLOCK", "\n"), rsa[:200], `KEY="` + pem(rng, "PRIVATE KEY", `\\n`) + `"`},
			[]string{pem(rng, "CERTIFICATE", "\n"), pem(rng, "PUBLIC KEY", "\n"), "-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----",
				"-----BEGIN PRIVATE KEY-----", "look for -----BEGIN RSA PRIVATE KEY----- in the files of this folder, please, and tell me where it is, if you see it"}},
		{ruleJWT, []string{token(rng, `{"sub":"17","name":"Jonas"}`), "Authorization: Bearer " + token(rng, `{"sub":"18"}`)},
			[]string{token(rng, `{"sub":"1234567890","name":"John Doe"}`), "eyJhbGciOiJIUzI1NiJ9.eyJ.x", "eyJhbGciOiJIUzI1NiJ9", "x" + token(rng, `{"sub":"17"}`),
				"eyJ" + made(rng, lower, 20) + "." + made(rng, alnums, 30) + "." + made(rng, alnums, 30)}},
		{ruleURLPassword, []string{"postgres://app:" + word + "@db.internal:5432/shop", "DATABASE_URL=mysql://root:" + word + "@10.0.0.7/x", "redis://:" + word + "@cache:6379",
			"git clone https://jonas:" + k32 + "@git.example.org/x.git", "mongodb+srv://u:" + word + "@c0.abc.mongodb.net", "amqp://svc:" + word + "@localhost",
			"postgres://app:Xk7pq9zA@hosted.acme.io/shop", "postgres://app:Xk7pq9zA@[2001:db8::7]/shop"},
			[]string{"postgres://user:password@localhost/db", "postgres://postgres:postgres@db:5432/x", "https://$USER:$PASS@host/", "https://<user>:<password>@host",
				"http://localhost:8080/@x", "https://example.org:443/a@b", "mysql://root:secret@127.0.0.1", "redis://user:***@cache", "https://u:{token}@h", "https://x.org/a:b@c"}},
		{ruleBasicAuth, []string{"Authorization: Basic " + basic, `-H "authorization: basic ` + basic + `"`,
			auths, "$ cat config.json\n" + auths, string(jsonl.AppendString(nil, auths)), `{"out":` + string(jsonl.AppendString(nil, auths)) + `}`, "//npm.internal/:_auth=" + basic, `"auth":"` + basic + `"`},
			[]string{"Authorization: Basic " + encode([]byte("user:password")), "Basic authentication", "basic abcdefgh", "Basic " + encode([]byte("Aladdin:open sesame")),
				`{"auths": {"registry.internal": {"auth": "` + encode([]byte("user:password")) + `"}}}`, `{"auths": {"registry.internal": {}}}`, `{"auth": "` + encode([]byte("of jonas alone")) + `"}`,
				`{"auth": "jonas:` + word + `"}`, `{"thing": "` + basic + `"}`}},
		{ruleBearer, []string{"Authorization: Bearer " + k40, `curl -H 'Authorization: Bearer ` + k32 + `'`},
			[]string{"Authorization: Bearer $TOKEN", "Bearer your-access-token-goes-here", "bearer of bad news that nobody wants", "Bearer <token>", "Bearer ${GITHUB_TOKEN_FOR_2024}"}},
		{rulePassword, []string{"DB_PASSWORD=" + word, "export PGPASSWORD='" + word + "'", "password: " + word, `"password": "` + word + `"`, `password = "` + word + `"`,
			"Server=x;Uid=sa;Pwd=" + word, "--password " + word, "mysql --password='" + word + "'", `\"passwd\":\"` + word + `\"`, "<password>" + word + "</password>",
			`var adminPass = "` + word + `"`, `config["password"] = '` + word + `'`, "DB_PASS=correct-horse-battery", "ALTER USER x PASSWORD '" + word + "'", `pwd: str = "` + word + `"`,
			"`export DB_PASSWORD=" + word + "`.", "**PASSWORD=" + word + "!**", "['PASSWORD=" + word + "']", "<td>PASSWORD=" + word + "</td>", "DB_PASSWORD=" + signs, "password: " + signs, "a: 1\n  password: " + signs + "\nb: 2",
			"define('DB_PASSWORD', '" + word + "');", `define( "DB_PASSWORD", "` + word + `" );`, `setenv("DB_PASSWORD", "` + word + `", 1)`, `env.setdefault(\"PASSWORD\", \"` + word + `\")`,
			`putenv("DB_PASSWORD=` + word + `");`, `if PASSWORD == "` + word + `" {`, "password !== '" + word + "'", "wget --password=" + word, "wget --http-password '" + word + "'"},
			[]string{"PASSWORD=", "PASSWORD=changeme", "password: string", "password = getPassword()", `password = os.environ["DB_PASSWORD"]`, "DB_PASSWORD=${DB_PASSWORD}", "PASSWORD=$1",
				`"password": "********"`, `password: "Enter your password"`, "password=xxxxxxxx", "password: process.env.DB_PASSWORD2", "password=<your-password>", "bypass = true12345",
				`"password": "password123"`, "PASSWORD=example", "PWD=/home/jonas/src2", "password_min_length: 12345678", `password: "{{ vault.password9 }}"`, "passwords = 12", "PASSWORD=test1234",
				"password_hash = bcrypt.generate(p2)", "if password == oldPassword2 {", "password: args.password1", `password: "auth.form.password"`,
				"PASSWORD==" + word, "password === " + word, "if (password != " + word + ")", "define('DB_PASSWORD', getenv('DB_PASSWORD2'));", "define('DB_PASSWORD', 'password_here');", `define("DB_PASSWORD", $dbPass2);`,
				`("PASSWORD", "` + word + `")`, `f(x["password"], "` + word + `")`, `f(1, "password", "` + word + `")`, "wget --password=$PASS2", "wget --http-password=<password2>"}},
		{ruleCommand, []string{"curl -u jonas:" + word + " https://git.internal", "curl -sS https://git.internal/x?a=1&b=2 --user jonas:" + word, "curl -ujonas:" + word, "curl --user=jonas:" + word,
			`curl -u "jonas:` + word + `" x`, "curl --proxy-user 'jonas:" + signs + "' x", "curl -U jonas:" + word, "curl -sSku jonas:" + word, "curl -u jonas:'" + signs + "'", "/usr/bin/curl.exe -u :" + word,
			"curl -X POST \\\n  -H 'Accept: a; q=1' -d '{\n  \"a\": 1 && 2\n}' \\\n  -u jonas:" + word + " \\\n  x", `run("curl", "-u", "jonas:` + word + `")`, `sh -c "curl -u jonas:` + word + `"`, `a\ncurl -u \"jonas:` + word + `\"`,
			"curl x | jq; curl -u jonas:" + word, "it doesn't; `curl -u jonas:" + word + "`.", "sshpass -p " + word + " ssh jonas@host", "sshpass -p" + word + " scp a b:", "sshpass -p '" + signs + "' ssh host", `sshpass -p "` + word + `" ssh host`},
			[]string{"curl -u jonas: x", "curl -u jonas x", "curl -u $USER:$PASS2", `curl -u "$USER:$PASS2"`, `curl -u "jonas:Abc12$PASS"`, "curl -u jonas:${PASS2}", "curl -u jonas:$(pass Show2)", `curl -u "$TOKEN:"`, "curl -u user:<password2>",
				"curl -u user:password", "curl -u username:your_password1", "curl -u jonas:********", "curl -u jonas12!:jonas12!", "curl -u anonymous:jonas2@git.internal", "curl -u 1000:1000", "curl -u {user}:{pass2}",
				"docker run -u jonas:" + word, "curl x && docker run -u jonas:" + word, "curl x\ndocker run -u jonas:" + word, `curl x\ndocker run -u jonas:` + word, "libcurl -u jonas:" + word, "curly -u jonas:" + word,
				"curl --user-agent jonas:" + word, "curl --url=https://jonas:443/" + word, "curl -d 'a -u jonas:" + word + "'", "curl: option -u: requires parameter", "curl -H u:" + word, "curl -u", "curl --user", "curl -u '",
				"sshpass -p password ssh host", `sshpass -p "$PASS2" ssh host`, "sshpass -e ssh -p " + word, "sshpass -p", "sshpass -f pass.txt2 ssh host"}},
		{ruleNetrc, []string{"machine git.internal login jonas password " + word, "machine git.internal\n\tlogin jonas\n\tpassword " + word + "\nmachine b login c", "default login jonas password " + word,
			"machine imap.internal port 993 login jonas account x password " + signs, `echo "machine git.internal login jonas password ` + word + `" >> ~/.netrc`, `printf 'machine git.internal\nlogin jonas\npassword ` + word + `\n'`},
			[]string{"machine git.internal login jonas password <password2>", "machine git.internal login jonas password $PASS2", "machine git.internal login myself password secret", "default login anonymous password jonas2@git.internal",
				"the machine account password " + word, "the default password " + word, "with login jonas password " + word, "machine git.internal login jonas", "machine git.internal login jonas password", "password " + word}},
		{ruleAssigned, []string{"API_KEY=" + k32, `"api_key": "` + k40 + `"`, "client_secret: " + hex40, "const authToken = '" + k32 + "'", "x-api-key: " + k32, "?access_token=" + k40 + "&x=1",
			"MISTRAL_API_KEY=" + k32, `{"Token": "` + k32 + `"}`, "SECRET_KEY_BASE=" + hex40 + hex40, "--token " + k32, `secretKey := "` + k32 + `"`},
			[]string{"token = await getToken()", "max_tokens: 4096000000000000", "cache_key: " + hex40, "key: " + hex40, "token: " + uuid, "primary_key = id", "api_key = settings.API_KEY",
				"token: string;", "API_KEY=your-api-key-goes-here-2024", "secret: my-secret-value-2024-01", "next_page_token: " + k32, "token_type: bearer", "token = x[1:]", "tape push --allow-secret " + hex32[:16], "allow_secret=" + hex32[:16],
				"author = " + k32, "SSH_PUBLIC_KEY=" + k32, "const secretManagerClient = newSecretManagerClientV1()", "token=" + strings.Repeat("a1", 16), `"key": "components/Button2/index.tsx"`}},
		{ruleAWSSecret, []string{"aws_secret_access_key = " + k40, `"SecretAccessKey": "` + k40 + `"`, "AWS_SECRET_ACCESS_KEY=" + k40},
			[]string{"aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY", "AWS_SECRET_ACCESS_KEY=" + strings.Repeat("x", 40)}},
		{ruleEntropy, []string{"the token is " + k32, "here is my API key for it " + k40, "use this secret then " + k32 + "."},
			[]string{"the key of the commit is " + hex40, "the token is called MaxTokensPerRequestLimit", "key toolu_01" + k32, "key fingerprint is SHA256:" + k40,
				"a key with name " + uuid, "ssh key AAAA" + k40, "the secret of src/components/Foo2/Bar3/index.tsx", "the secret is out\n" + k40, "token sha512-" + k40, k40}},
		{"azure-client-secret", []string{"a8Q" + "7Q~" + made(rng, alnums, 34)}, []string{"a8Q7Q~" + made(rng, alnums, 20), "a8Qx" + "Q~" + made(rng, alnums, 34)}},
		{ruleAzureKey, []string{"https://x.blob.core.windows.net/c/f?sv=2024-11-04&sig=" + made(rng, alnums, 20) + "%2F" + made(rng, alnums, 22) + "%3D"},
			[]string{"&sig=" + made(rng, alnums, 43), "sig=" + strings.Repeat("a", 43) + "%3D"}},
		{"telegram-token", []string{made(rng, "123456789", 10) + ":AA" + made(rng, alnums, 33)}, []string{"12345:AA" + made(rng, alnums, 33), "1234567890:AB" + made(rng, alnums, 33), "1234567890:AA" + made(rng, alnums, 20)}},
		{"mailchimp-key", []string{hex32 + "-us12"}, []string{hex40 + "-us12", hex32 + "-user", hex32 + "-us"}},
		{"terraform-token", []string{made(rng, alnums, 14) + ".atlasv1." + made(rng, alnums, 64)}, []string{made(rng, alnums, 9) + ".atlasv1." + made(rng, alnums, 64), "x.atlasv1.y"}},
		{ruleDiscord, []string{"discord bot: MT" + made(rng, alnums, 24) + ".G" + made(rng, alnums, 5) + "." + made(rng, alnums, 38)},
			[]string{"the bot: MT" + made(rng, alnums, 24) + ".G" + made(rng, alnums, 5) + "." + made(rng, alnums, 38), "discord.js is Nice.and.good"}},
	}
}

func TestRules(t *testing.T) {
	s, rng := New(), testkit.Random(t)
	for range testkit.Size(3, 500) {
		for _, c := range ruleCases(rng) {
			for _, text := range c.yes {
				if got := rulesOf(s.Text([]byte(text))); !slices.Equal(got, []string{c.rule}) {
					t.Errorf("%s: found %q in %q, want one secret of this rule", c.rule, got, text)
				}
			}
			for _, text := range c.none {
				if found := s.Text([]byte(text)); len(found) > 0 {
					t.Errorf("%s: found %+v in %q, want nothing", c.rule, found, text)
				}
			}
		}
		if t.Failed() {
			return
		}
	}
}

// Every rule without shapes has a case above, and no ID occurs twice.
func TestRulesAreListed(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rules() {
		if r.ID == "" || r.Title == "" || seen[r.ID] {
			t.Errorf("rule without ID or title, or with the ID of another: %+v", r)
		}
		seen[r.ID] = true
	}
	tried := map[string]bool{}
	for _, c := range ruleCases(testkit.Random(t)) {
		if tried[c.rule] = true; !seen[c.rule] {
			t.Errorf("%s is not listed", c.rule)
		}
	}
	for _, r := range table() {
		if len(r.shapes) == 0 && !tried[r.ID] {
			t.Errorf("no test of %s", r.ID)
		}
	}
}

// TestPaths: findings say where in the entry they are, also in JSON in strings.
func TestPaths(t *testing.T) {
	s, rng := New(), testkit.Random(t)
	gh, word := "ghp_"+made(rng, alnums, 36), "Tr0ub4dor&3q"
	args := string(jsonl.AppendString(nil, fmt.Sprintf(`{"env":{"DB_PASSWORD":%q},"cmd":["run",%s]}`, word, jsonl.AppendString(nil, `{"deep":"`+gh+`"}`))))
	line := fmt.Sprintf(`{"id":3,"kind":"x","payload":{"content":[{"text":"a"},{"text":"see %s"}],"calls":[{"function":{"arguments":%s}}]},"meta":{"%s":1}}`, gh, args, "glpat-"+made(rng, alnums, 20))
	w := s.pool.Get().(*walker)
	w.value([]byte(line), 0, nil, 0)
	var got []string
	for _, sp := range w.spots {
		got = append(got, sp.Rule+" "+sp.Path)
	}
	want := []string{"github-token payload.content[1].text", "password-assignment payload.calls[0].function.arguments.env.DB_PASSWORD", "github-token payload.calls[0].function.arguments.cmd[1].deep"}
	if !slices.Equal(got[:min(3, len(got))], want) || len(got) != 4 || got[3] != "gitlab-token meta.…" {
		t.Errorf("found %q, want %q and a gitlab-token at meta.…", got, want)
	}
	if found, err := s.Line([]byte(line)); err != nil || len(found) != 3 {
		t.Errorf("Line finds %+v (%v), want each of 3 secrets once", found, err)
	}
	if _, err := s.Line([]byte(`{"a":`)); err == nil {
		t.Error("Line returns no error for incomplete JSON")
	}
}

// TestSpellings: however a string is escaped, the secret in it is the same.
func TestSpellings(t *testing.T) {
	s, rng := New(), testkit.Random(t)
	secrets := []string{"ghp_" + made(rng, alnums, 36), "SG." + made(rng, alnums, 22) + "." + made(rng, alnums, 43), "aws_secret_access_key=" + made(rng, alnums, 19) + "/" + made(rng, alnums, 20),
		pem(rng, "RSA PRIVATE KEY", "\n")}
	for _, secret := range secrets {
		want := ""
		for range 20 {
			line := []byte(`{"payload":{"content":"`)
			for _, c := range []byte("a\n" + secret + "\tb") {
				switch {
				case c == '\n' && rng.IntN(2) == 0:
					line = append(line, `\n`...)
				case c == '/' && rng.IntN(2) == 0:
					line = append(line, `\/`...)
				case c < ' ' || rng.IntN(6) == 0:
					line = fmt.Appendf(line, `\u%04x`, c)
				default:
					line = append(line, c)
				}
			}
			line = append(line, `"}}`...)
			found, err := s.Line(line)
			if err != nil || len(found) != 1 {
				t.Fatalf("found %+v, %v in %s", found, err, line)
			}
			if want == "" {
				want = found[0].Fingerprint
			}
			if found[0].Fingerprint != want {
				t.Errorf("fingerprint %s, want %s as in other spellings: %s", found[0].Fingerprint, want, line)
			}
		}
	}
}

func TestExcerptShowsNoNeighbour(t *testing.T) {
	s, rng := New(), testkit.Random(t)
	one, two := "ghp_"+made(rng, alnums, 36), "hf_"+made(rng, alnums, 34)
	for _, f := range s.Text([]byte("tokens \x1b[31m" + one + "," + two)) {
		if strings.Contains(f.Masked, one[10:20]) || strings.Contains(f.Masked, two[10:20]) || strings.ContainsRune(f.Masked, '\x1b') {
			t.Errorf("the excerpt contains a secret or an escape: %q", f.Masked)
		}
	}
}
