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

// TestPasswordsByPlace: passwords in URLs, commands and sentences, also in other languages, and keys in base64. Parts of
// words that are placeholders make none (https://github.com/secretlint/secretlint/pull/1118 had the same fault).
func TestPasswordsByPlace(t *testing.T) {
	s, rng := New(), testkit.Random(t)
	encode := base64.StdEncoding.EncodeToString
	token := "ghp_" + made(rng, alnums, 36)
	for rule, texts := range map[string][]string{
		ruleURLPassword: {"postgres://bob:Tr0ubador3@db/x", "postgres://admin:SuperSecret123@db.prod.net:5432/production", "postgres://bob:s3cr3tpass@db:5432/x", "mongodb://user:s3cr3tP4ss@cluster.mongodb.net/mydb",
			"mysql://admin:str0ngPwd@db.company.com:3306/app", "https://bob:MyPassw0rd99@git.corp.net/x", "amqp://app:P4ssw0rd@rabbitmq:5672/", "postgres://bob:hunter2@db/x", "postgresql://app:secur3Pass@db.corp.net:5432/app", "redis://default:testingtoken@cache.corp.net:6379"},
		ruleCommand: {"docker login -u me -p zX9kQ2mfLw reg.io", "docker login -p=zX9kQ2mfLw reg.io", "podman login reg.io -u me -p 'zX9kQ2mfLw'", "helm registry login -u me -p zX9kQ2mfLw reg.io", "az acr login -n x -p zX9kQ2mfLw",
			"mysql -u root -pzX9kQ2mfLw db", "mysqldump --all-databases -uroot -pzX9kQ2mfLw >x", "mysql -u root '-pzX9kQ2mfLw'", "mongosh -u me -p zX9kQ2mfLw", "redis-cli -h x -a zX9kQ2mfLw ping", "ldapsearch -x -D cn=a -w zX9kQ2mfLw", "sqlcmd -S x -U sa -P zX9kQ2mfLw"},
		rulePassword: {"the password is zX9kQ2mfLw", "Password is: \"zX9kQ2mfLw\"", "密码：zX9kQ2mfLw", "密码是 zX9kQ2mfLw。", "パスワード: zX9kQ2mfLw", "contraseña: zX9kQ2mfLw", "Contraseña = zX9kQ2mfLw", "La contraseña es zX9kQ2mfLw.", "Das Passwort ist zX9kQ2mfLw!",
			"Kennwort: zX9kQ2mfLw", "mot de passe : zX9kQ2mfLw", "Le mot de passe est zX9kQ2mfLw", "senha: zX9kQ2mfLw", "wachtwoord: zX9kQ2mfLw", "hasło: zX9kQ2mfLw", "Пароль: zX9kQ2mfLw", "пароль=zX9kQ2mfLw", "비밀번호: zX9kQ2mfLw", "şifre: zX9kQ2mfLw",
			"DB_PASSWORD=SuperSecret123", "DB_PASSWORD=MyTestDb!9", `password: "AdminLogin77"`},
		ruleAssigned:   {"密钥：" + key(rng, 32), "API-Schlüssel: " + key(rng, 32), "clé = \"" + key(rng, 32) + "\""},
		"github-token": {encode([]byte(token)), "token: " + encode([]byte(token+"\n")), `{"data":{"t":"` + encode([]byte(token)) + `"}}`},
		rulePrivateKey: {"client-key-data: " + encode([]byte(pem(rng, "RSA PRIVATE KEY", "\n")))},
	} {
		for _, text := range texts {
			if got := rulesOf(s.Text([]byte(text))); len(got) != 1 || got[0] != rule {
				t.Errorf("found %q in %q, want %s", got, text, rule)
			}
		}
	}
	for _, text := range []string{"postgres://user:password@db/x", "postgres://user:your-password@db.prod.net/x", "https://user:changeme@x.corp.net", "redis://:secret@cache:6379", "postgres://u:pw12@localhost/x",
		"docker login -u me -p password", "docker login -u me -p $PASS2", "docker login --password-stdin", "please login -p zX9kQ2mfLw", "login: zX9kQ2mfLw", "mysql -u root -p db2x9kQm", "mysql -P 3306 -h x", "mysql -u root -p", "mycli -p",
		"the password is required2 here", "the password is base64 encoded", "password is sha256-hashed", "the password is stored in config2.yaml", "password was reset", "mot de passe oublié", "la clave es importante", "clave: valor",
		"密码不能为空", "密码长度为8到16位", "パスワードは必須です", "clave: getClave2()", "contraseña: ${PASS2}", "schlüssel: /etc/x2/y3.pem", encode([]byte("ghp_ is the prefix of tokens")), encode([]byte("-----BEGIN CERTIFICATE-----\n" + made(rng, alnums, 64))),
		"PASSWORD=my-secret-password", "PASSWORD=password123", "PASSWORD=abcd1234", "API_KEY=test-api-key-1234", "DB_PASSWORD=changeme1"} {
		if found := s.Text([]byte(text)); len(found) > 0 {
			t.Errorf("found %q in %q, want nothing", rulesOf(found), text)
		}
	}
}
