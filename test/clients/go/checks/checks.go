// Package checks is the protocol of a program that tries a client out: a line of JSON for each thing tried, and requests for restarts.
package checks

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"reflect"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const deadline = 30 * time.Second

var (
	out = sync.Mutex{}
	in  = bufio.NewReader(os.Stdin)
)

// Check is one thing to try; its name becomes the name of a test. It fails by panicking.
type Check struct {
	Name string
	Try  func(ctx context.Context)
}

// Run tries everything, in order.
func Run(all ...Check) {
	for _, check := range all {
		if why := try(check); why == "" {
			say(map[string]string{"check": check.Name})
		} else {
			say(map[string]string{"check": check.Name, "error": why})
		}
	}
}

func try(check Check) (why string) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*deadline)
	defer cancel()
	defer func() {
		if thrown := recover(); thrown != nil {
			why = fmt.Sprintf("%v\n%s", thrown, debug.Stack())
		}
	}()
	check.Try(ctx)
	return ""
}

func say(line map[string]string) {
	text, _ := json.Marshal(line)
	out.Lock()
	defer out.Unlock()
	fmt.Println(string(text))
}

// Restart has the server stopped and started.
func Restart() { ask("restart") }

// Forget has the server started without its history: whoever goes on from before is told 410.
func Forget() { ask("forget") }

func ask(what string) {
	say(map[string]string{"ask": what})
	answer, err := in.ReadString('\n')
	Must(err)
	Equal(answer, "done\n")
}

// Must panics with an error.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}

// Got is for calls that answer a value and an error.
func Got[T any](value T, err error) T {
	Must(err)
	return value
}

// Equal panics unless both are the same.
func Equal(got, want any) {
	if !reflect.DeepEqual(got, want) {
		panic(fmt.Sprintf("got %#v, not %#v", got, want))
	}
}

// That panics with what was to be, unless it is.
func That(what string, holds bool) {
	if !holds {
		panic("not so: " + what)
	}
}

// Until waits for something to come true.
func Until(what string, holds func() bool) {
	for end := time.Now().Add(deadline); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			panic("never came true: " + what)
		}
	}
}

// Wire is a way to the server of KUBECONFIG that tells what was asked and can be cut.
type Wire struct {
	Config *rest.Config
	mutex  sync.Mutex
	asked  []string
	conns  map[net.Conn]struct{}
	down   bool
}

// Dial makes one.
func Dial() *Wire {
	config := Got(clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG")))
	config.QPS, config.Burst = -1, -1
	wire := &Wire{Config: config, conns: map[net.Conn]struct{}{}}
	config.Dial = wire.dial
	config.Wrap(func(inner http.RoundTripper) http.RoundTripper { return recorder{wire, inner} })
	return wire
}

func (w *Wire) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.down {
		_ = conn.Close()
		return nil, syscall.ECONNREFUSED
	}
	w.conns[conn] = struct{}{}
	return conn, nil
}

// Without runs something while there is no way to the server.
func (w *Wire) Without(something func()) {
	w.set(true)
	w.Cut()
	something()
	w.set(false)
}

func (w *Wire) set(down bool) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.down = down
}

// Cut resets every connection.
func (w *Wire) Cut() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for conn := range w.conns {
		if tcp, is := conn.(*net.TCPConn); is {
			_ = tcp.SetLinger(0)
		}
		_ = conn.Close()
	}
	clear(w.conns)
}

// Asked counts the requests so far whose line (method, address, media types sent and accepted, protocol of the answer) has all the parts.
func (w *Wire) Asked(parts ...string) (count int) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, line := range w.asked {
		has := true
		for _, part := range parts {
			has = has && strings.Contains(line, part)
		}
		if has {
			count++
		}
	}
	return count
}

type recorder struct {
	wire  *Wire
	inner http.RoundTripper
}

func (r recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.inner.RoundTrip(request)
	proto := ""
	if err == nil {
		proto = response.Proto
	}
	header := request.Header
	line := strings.Join([]string{request.Method, request.URL.String(), header.Get("Content-Type"), header.Get("Accept"), proto}, " ")
	r.wire.mutex.Lock()
	r.wire.asked = append(r.wire.asked, line)
	r.wire.mutex.Unlock()
	return response, err
}
