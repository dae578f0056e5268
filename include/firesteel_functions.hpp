// Native functions for Spark in C++17: header only, it needs firesteel.h and the standard library, no more.
// docs/functions.md has the rules, examples/functions/cpp/text.cpp is an example.
//
//     double celsius(double fahrenheit) { return (fahrenheit - 32) / 1.8; }
//
//     FIRESTEEL_MODULE("weather", "1.0", firesteel::scalar("celsius", "Fahrenheit to Celsius.", celsius))
//
// Compile with -fvisibility=hidden, so that libraries in the same process keep to themselves. No exception crosses the
// border: firesteel::failure fails the task as a wrong value does, std::bad_alloc as lack of memory, any other as a bug
// of the library.
#ifndef FIRESTEEL_FUNCTIONS_HPP
#define FIRESTEEL_FUNCTIONS_HPP

#include "firesteel_columns.hpp"

#include <cerrno>
#include <functional>
#include <new>

namespace firesteel {

// The task was cancelled: gives up.
struct cancelled : std::exception {
    const char *what() const noexcept override { return "the task was cancelled"; }
};

// Thrown by constructors of functions: these arguments are not for this signature, the next may be tried.
struct not_applicable : std::exception {
    const char *what() const noexcept override { return "the function does not take these arguments"; }
};

// The task that calls.
class task {
public:
    explicit task(const firesteel_task *raw) noexcept : raw_(raw) {}
    bool is_cancelled() const noexcept { return raw_->host->is_cancelled(raw_) != 0; }
    // For long loops, now and then.
    void check_cancelled() const {
        if (is_cancelled()) {
            throw cancelled();
        }
    }
    // Bytes of the task's memory, for what is kept between calls.
    void reserve(std::size_t bytes) const {
        if (raw_->host->reserve(raw_, bytes) != FIRESTEEL_STATUS_OK) {
            throw std::bad_alloc();
        }
    }
    void release(std::size_t bytes) const noexcept { raw_->host->release(raw_, bytes); }
    void log(firesteel_log_level level, std::string_view line) const noexcept {
        raw_->host->log(raw_, level, firesteel_str{line.data(), line.size()});
    }
    std::string_view time_zone() const noexcept { return {raw_->time_zone.data, raw_->time_zone.len}; }
    bool ansi() const noexcept { return raw_->ansi != 0; }
    // The numbers of stage, partition and attempt.
    const firesteel_task &raw() const noexcept { return *raw_; }

private:
    const firesteel_task *raw_;
};

// What an instance of a function is made for: given to its constructor, and valid as long as that runs.
struct binding {
    firesteel::task task;
    std::size_t signature;
    const ArrowSchema &arguments;
    const ArrowArray *constants;
    const std::uint8_t *is_constant;

    // Whether an argument is the same for all rows; its value is then in row 0 of `constant`.
    bool constant_given(std::size_t at) const noexcept {
        return constants != nullptr && is_constant != nullptr && is_constant[at] != 0;
    }
    template <class T> column<T> constant(std::size_t at) const { return batch(*constants).get<T>(at); }
};

// The groups of an aggregate's rows, one number for each row.
struct groups {
    const std::uint32_t *data;
    // All numbers are below. Groups that were not there before are new.
    std::uint32_t count;
    std::uint32_t operator[](std::int64_t row) const noexcept { return data[row]; }
};

// The rows of a partition.
class input {
public:
    input() = default;
    // The next batch; none at the end.
    owned_array next() {
        owned_array rows;
        check(stream_.get()->get_next(stream_.get(), rows.get()));
        return rows;
    }
    owned_schema schema() {
        owned_schema schema;
        check(stream_.get()->get_schema(stream_.get(), schema.get()));
        return schema;
    }
    void take(ArrowArrayStream *stream) noexcept {
        stream_ = owned<ArrowArrayStream>(*stream);
        stream->release = nullptr;
    }

private:
    void check(int code) {
        if (code == ECANCELED) {
            throw cancelled();
        }
        if (code == ENOMEM) {
            throw std::bad_alloc();
        }
        if (code != 0) {
            const char *why = stream_.get()->get_last_error(stream_.get());
            throw failure(why == nullptr ? "the input failed" : why);
        }
    }
    owned<ArrowArrayStream> stream_;
};

// ---- What authors derive from. One thread at a time uses an instance. ----

class scalar_function {
public:
    virtual ~scalar_function() = default;
    // As many values as there are rows.
    virtual owned_array execute(const task &, const batch &arguments) = 0;
};

class aggregate_function {
public:
    virtual ~aggregate_function() = default;
    virtual void update(const task &, const batch &arguments, const groups &) = 0;
    virtual void merge(const task &, const batch &states, const groups &) = 0;
    // The states of groups 0 to `count`, as `columns` and `struct_of` make them.
    virtual owned_array states(const task &, std::uint32_t count) = 0;
    // The results of groups 0 to `count`; forgets all groups.
    virtual owned_array finish(const task &, std::uint32_t count) = 0;
    // Bytes that are kept.
    virtual std::size_t size() const noexcept = 0;
};

class partition_function {
public:
    virtual ~partition_function() = default;
    // The result's columns, as the signature has them.
    virtual owned_schema schema() = 0;
    // The next batch of the result, a struct array; none at the end.
    virtual owned_array next(const task &, input &rows) = 0;
};

class table_function {
public:
    virtual ~table_function() = default;
    virtual owned_schema schema() = 0;
    // Begins the call that has its arguments in this row; `arguments` stays valid until the next call.
    virtual void call(const task &, const batch &arguments, std::int64_t row) = 0;
    // The next batch of this call's rows; none at their end.
    virtual owned_array next(const task &) = 0;
};

// ---- The border ----

namespace detail {

// Runs something that may throw, and tells C how it went.
template <class Body> firesteel_status guarded(firesteel_failure *failed, Body &&body) noexcept {
    try {
        body();
        return FIRESTEEL_STATUS_OK;
    } catch (const failure &e) {
        return firesteel_fail(failed, FIRESTEEL_STATUS_INVALID, e.row, e.sqlstate.c_str(), "%s", e.what());
    } catch (const cancelled &e) {
        return firesteel_fail(failed, FIRESTEEL_STATUS_CANCELLED, -1, nullptr, "%s", e.what());
    } catch (const not_applicable &e) {
        return firesteel_fail(failed, FIRESTEEL_STATUS_NOT_APPLICABLE, -1, nullptr, "%s", e.what());
    } catch (const std::bad_alloc &) {
        return firesteel_fail(failed, FIRESTEEL_STATUS_NO_MEMORY, -1, nullptr, "no memory");
    } catch (const std::exception &e) {
        return firesteel_fail(failed, FIRESTEEL_STATUS_INTERNAL, -1, nullptr, "%s", e.what());
    } catch (...) {
        return firesteel_fail(failed, FIRESTEEL_STATUS_INTERNAL, -1, nullptr, "an exception of an unknown type");
    }
}

template <class Function> using factory = std::function<std::unique_ptr<Function>(const binding &)>;

// Makes an instance; its class may take a binding or nothing.
template <class Function, class Class> std::unique_ptr<Function> make(const binding &bound) {
    if constexpr (std::is_constructible_v<Class, const binding &>) {
        return std::make_unique<Class>(bound);
    } else {
        (void)bound;
        return std::make_unique<Class>();
    }
}

template <class Function>
firesteel_status bind(const firesteel_function *function, const firesteel_task *raw, std::size_t signature,
                      const ArrowSchema *arguments, const ArrowArray *constants, const std::uint8_t *is_constant,
                      void **instance, firesteel_failure *failed) noexcept {
    return guarded(failed, [&] {
        const auto &make = *static_cast<const factory<Function> *>(function->data);
        *instance = make(binding{task(raw), signature, *arguments, constants, is_constant}).release();
    });
}

template <class Function> void unbind(void *instance) noexcept { delete static_cast<Function *>(instance); }

inline firesteel_status execute(void *instance, const firesteel_task *raw, const ArrowArray *arguments,
                                ArrowArray *result, firesteel_failure *failed) noexcept {
    return guarded(failed, [&] {
        auto *function = static_cast<scalar_function *>(instance);
        owned_array values = function->execute(task(raw), batch(*arguments));
        if (!values || values->length != arguments->length) {
            throw std::logic_error("the function gave " + std::to_string(values ? values->length : 0) +
                                   " values for " + std::to_string(arguments->length) + " rows");
        }
        values.move_to(result);
    });
}

// `update` and `merge`.
template <void (aggregate_function::*take)(const task &, const batch &, const groups &)>
firesteel_status take_rows(void *instance, const firesteel_task *raw, const ArrowArray *rows,
                           const std::uint32_t *numbers, std::uint32_t count, firesteel_failure *failed) noexcept {
    return guarded(failed, [&] {
        (static_cast<aggregate_function *>(instance)->*take)(task(raw), batch(*rows), groups{numbers, count});
    });
}

// `states` and `finish`.
template <owned_array (aggregate_function::*give)(const task &, std::uint32_t)>
firesteel_status give_groups(void *instance, const firesteel_task *raw, std::uint32_t count, ArrowArray *rows,
                             firesteel_failure *failed) noexcept {
    return guarded(failed, [&] {
        (static_cast<aggregate_function *>(instance)->*give)(task(raw), count).move_to(rows);
    });
}

inline std::size_t size(const void *instance) noexcept {
    return static_cast<const aggregate_function *>(instance)->size();
}

// Where a stream's batches come from.
class source {
public:
    explicit source(const task &called_by) : by(called_by) {}
    virtual ~source() = default;
    virtual owned_schema schema() = 0;
    virtual owned_array next() = 0;

    task by;
    input rows;
    std::string error;
};

class partition_source : public source {
public:
    partition_source(const task &called_by, void *instance)
        : source(called_by), function_(static_cast<partition_function *>(instance)) {}
    owned_schema schema() override { return function_->schema(); }
    owned_array next() override { return function_->next(by, rows); }

private:
    partition_function *function_;
};

class table_source : public source {
public:
    table_source(const task &called_by, void *instance)
        : source(called_by), function_(static_cast<table_function *>(instance)) {}
    owned_schema schema() override {
        owned_schema both = new_schema("+s", "", 2);
        type<std::int64_t>::schema("call").move_to(both->children[0]);
        owned_schema columns = function_->schema();
        owned_schema row = new_schema("+s", "row", columns->n_children);
        for (std::int64_t i = 0; i < columns->n_children; i++) {
            *row->children[i] = std::exchange(*columns->children[i], ArrowSchema{});
        }
        row.move_to(both->children[1]);
        return both;
    }
    owned_array next() override {
        if (!std::exchange(began_, true)) {
            calls_ = rows.next();
        }
        for (; calls_ && row_ < calls_->length; row_++, called_ = false) {
            if (!std::exchange(called_, true)) {
                function_->call(by, batch(*calls_), row_);
            }
            owned_array given = function_->next(by);
            if (given) {
                builder<std::int64_t> numbers;
                for (std::int64_t i = 0; i < given->length; i++) {
                    numbers.append(row_);
                }
                std::int64_t length = given->length;
                return struct_of(length, numbers.finish(), std::move(given));
            }
        }
        return {};
    }

private:
    table_function *function_;
    owned_array calls_;
    std::int64_t row_ = 0;
    bool began_ = false, called_ = false;
};

// Runs a stream's call-back. Streams tell errors by errno and a text.
template <class Body> int guarded_stream(ArrowArrayStream *stream, Body &&body) noexcept {
    auto *from = static_cast<source *>(stream->private_data);
    char text[1024];
    firesteel_failure failed{sizeof failed, -1, {}, text, sizeof text, 0};
    firesteel_status status = guarded(&failed, [&] { body(*from); });
    if (status == FIRESTEEL_STATUS_OK) {
        return 0;
    }
    try {
        from->error.assign(text, failed.message_len);
    } catch (const std::bad_alloc &) {
        from->error.clear();
    }
    return status == FIRESTEEL_STATUS_INVALID     ? EINVAL
           : status == FIRESTEEL_STATUS_NO_MEMORY ? ENOMEM
           : status == FIRESTEEL_STATUS_CANCELLED ? ECANCELED
                                                  : EIO;
}

template <class Source>
firesteel_status open(void *instance, const firesteel_task *raw, ArrowArrayStream *input, ArrowArrayStream *output,
                      firesteel_failure *failed) noexcept {
    return guarded(failed, [&] {
        std::unique_ptr<source> from = std::make_unique<Source>(task(raw), instance);
        from->rows.take(input);
        output->get_schema = [](ArrowArrayStream *stream, ArrowSchema *out) {
            return guarded_stream(stream, [&](source &of) { of.schema().move_to(out); });
        };
        output->get_next = [](ArrowArrayStream *stream, ArrowArray *out) {
            return guarded_stream(stream, [&](source &of) { of.next().move_to(out); });
        };
        output->get_last_error = [](ArrowArrayStream *stream) -> const char * {
            const std::string &error = static_cast<source *>(stream->private_data)->error;
            return error.empty() ? nullptr : error.c_str();
        };
        output->release = [](ArrowArrayStream *stream) {
            delete static_cast<source *>(stream->private_data);
            stream->release = nullptr;
        };
        output->private_data = from.release();
    });
}

// ---- Functions of single rows ----

template <class Result, class... Arguments> struct row_types {
    using result = Result;
    using arguments = std::tuple<std::decay_t<Arguments>...>;
    static constexpr bool takes_task = false;
};
template <class Result, class... Arguments> struct row_types<Result, const task &, Arguments...> {
    using result = Result;
    using arguments = std::tuple<std::decay_t<Arguments>...>;
    static constexpr bool takes_task = true;
};

template <class F> struct callable : callable<decltype(&F::operator())> {};
template <class R, class... A> struct callable<R (*)(A...)> : row_types<R, A...> {};
template <class R, class... A> struct callable<R (*)(A...) noexcept> : row_types<R, A...> {};
template <class C, class R, class... A> struct callable<R (C::*)(A...)> : row_types<R, A...> {};
template <class C, class R, class... A> struct callable<R (C::*)(A...) noexcept> : row_types<R, A...> {};
template <class C, class R, class... A> struct callable<R (C::*)(A...) const> : row_types<R, A...> {};
template <class C, class R, class... A> struct callable<R (C::*)(A...) const noexcept> : row_types<R, A...> {};

// How an argument is read from its column.
template <class T> struct argument {
    using view = column<T>;
    static constexpr bool takes_null = false;
    static bool callable_for(const view &from, std::int64_t row) { return from.is_valid(row); }
    static T read(const view &from, std::int64_t row) { return from[row]; }
};
template <class T> struct argument<std::optional<T>> {
    using view = column<T>;
    static constexpr bool takes_null = true;
    static bool callable_for(const view &, std::int64_t) { return true; }
    static std::optional<T> read(const view &from, std::int64_t row) {
        return from.is_valid(row) ? std::optional<T>(from[row]) : std::nullopt;
    }
};

// A function of single rows, over columns.
template <class F, class Arguments = typename callable<F>::arguments> class mapped;
template <class F, class... A> class mapped<F, std::tuple<A...>> : public scalar_function {
    using result = std::decay_t<typename callable<F>::result>;

public:
    static constexpr bool takes_null = (argument<A>::takes_null || ...);
    static std::string arguments_text() {
        std::string text;
        ((text += (text.empty() ? "" : ", ") + type<A>::word()), ...);
        return text;
    }
    static std::string result_text() { return type<result>::word(); }

    explicit mapped(const F &function) : function_(function) {}
    owned_array execute(const task &by, const batch &rows) override {
        return run(by, rows, std::index_sequence_for<A...>());
    }

private:
    template <std::size_t... I> owned_array run(const task &by, const batch &rows, std::index_sequence<I...>) {
        std::tuple<typename argument<A>::view...> from(typename argument<A>::view(rows.child(I))...);
        builder<without_optional_t<result>> values;
        values.reserve(rows.size());
        std::int64_t row = 0;
        try {
            for (; row < rows.size(); row++) {
                if ((argument<A>::callable_for(std::get<I>(from), row) && ...)) {
                    if constexpr (callable<F>::takes_task) {
                        firesteel::append(values, result(function_(by, argument<A>::read(std::get<I>(from), row)...)));
                    } else {
                        firesteel::append(values, result(function_(argument<A>::read(std::get<I>(from), row)...)));
                    }
                } else {
                    values.append_null();
                }
            }
        } catch (failure &e) {
            e.row = e.row < 0 ? row : e.row;
            throw;
        }
        (void)by, (void)from;
        return values.finish();
    }

    F function_;
};

} // namespace detail

// ---- Definitions ----

struct signature {
    std::string arguments, result;
};

// A function of a module.
class definition {
public:
    template <class Function>
    definition(std::string name, std::string description, firesteel_kind kind, std::vector<signature> signatures,
               detail::factory<Function> make)
        : name_(std::move(name)), description_(std::move(description)), signatures_(std::move(signatures)),
          make_(std::make_shared<detail::factory<Function>>(std::move(make))) {
        raw.struct_size = sizeof raw;
        raw.kind = kind;
        raw.volatility = FIRESTEEL_VOLATILITY_IMMUTABLE;
        raw.nulls = FIRESTEEL_NULLS_GIVEN;
        raw.bind = detail::bind<Function>;
        raw.unbind = detail::unbind<Function>;
    }
    // How often it may be called for the same values: always the same result, if nothing is said.
    definition volatility(firesteel_volatility value) && {
        raw.volatility = value;
        return std::move(*this);
    }
    // What becomes of nulls. Functions of single rows are given them if an argument is std::optional; others are, if
    // nothing is said.
    definition nulls(firesteel_nulls value) && {
        raw.nulls = value;
        return std::move(*this);
    }
    definition state(std::string columns) && {
        state_ = std::move(columns);
        return std::move(*this);
    }

    // Once it is where it stays.
    const firesteel_function *complete() {
        const auto borrowed = [](const std::string &text) { return firesteel_str{text.data(), text.size()}; };
        raw.name = borrowed(name_);
        raw.description = borrowed(description_);
        raw.state = borrowed(state_);
        for (const signature &each : signatures_) {
            raw_signatures_.push_back({borrowed(each.arguments), borrowed(each.result)});
        }
        raw.signatures = raw_signatures_.data();
        raw.signature_count = raw_signatures_.size();
        raw.data = make_.get();
        return &raw;
    }

    firesteel_function raw{};

private:
    std::string name_, description_, state_;
    std::vector<signature> signatures_;
    std::vector<firesteel_signature> raw_signatures_;
    std::shared_ptr<void> make_;
};

// A function of single rows; several are overloads. Types: bool, std::int8_t to std::int64_t, float, double,
// std::string_view, firesteel::list_view<T> for arrays; results also std::string and std::vector<T>. A row with a null
// gives null and is not called for, except for arguments that are std::optional. A result that is std::optional may be
// null. The first argument may be `const firesteel::task &`. Each instance has a copy of the callables.
template <class... F> definition scalar(std::string name, std::string description, F... functions) {
    std::vector<detail::factory<scalar_function>> factories{
        [functions](const binding &) { return std::make_unique<detail::mapped<F>>(functions); }...};
    definition made(std::move(name), std::move(description), FIRESTEEL_KIND_SCALAR,
                    {signature{detail::mapped<F>::arguments_text(), detail::mapped<F>::result_text()}...},
                    detail::factory<scalar_function>(
                        [factories](const binding &bound) { return factories.at(bound.signature)(bound); }));
    made.raw.execute = detail::execute;
    bool takes_null = (detail::mapped<F>::takes_null || ...);
    return std::move(made).nulls(takes_null ? FIRESTEEL_NULLS_GIVEN : FIRESTEEL_NULLS_SKIPPED);
}

// A scalar_function. For this and the others: `Class` is made for each instance, of a binding or of nothing.
template <class Class>
definition scalar_class(std::string name, std::string description, std::vector<signature> signatures) {
    definition made(std::move(name), std::move(description), FIRESTEEL_KIND_SCALAR, std::move(signatures),
                    detail::factory<scalar_function>(detail::make<scalar_function, Class>));
    made.raw.execute = detail::execute;
    return made;
}

// An aggregate_function; `state` has the columns of its states.
template <class Class>
definition aggregate(std::string name, std::string description, std::vector<signature> signatures, std::string state) {
    definition made(std::move(name), std::move(description), FIRESTEEL_KIND_AGGREGATE, std::move(signatures),
                    detail::factory<aggregate_function>(detail::make<aggregate_function, Class>));
    made.raw.update = detail::take_rows<&aggregate_function::update>;
    made.raw.merge = detail::take_rows<&aggregate_function::merge>;
    made.raw.states = detail::give_groups<&aggregate_function::states>;
    made.raw.finish = detail::give_groups<&aggregate_function::finish>;
    made.raw.size = detail::size;
    return std::move(made).state(std::move(state));
}

// A partition_function; its arguments are the columns of its input.
template <class Class> definition partition(std::string name, std::string description, signature columns) {
    definition made(std::move(name), std::move(description), FIRESTEEL_KIND_PARTITION, {std::move(columns)},
                    detail::factory<partition_function>(detail::make<partition_function, Class>));
    made.raw.open = detail::open<detail::partition_source>;
    return made;
}

// A table_function; its result has the columns.
template <class Class>
definition table(std::string name, std::string description, std::vector<signature> signatures) {
    definition made(std::move(name), std::move(description), FIRESTEEL_KIND_TABLE, std::move(signatures),
                    detail::factory<table_function>(detail::make<table_function, Class>));
    made.raw.open = detail::open<detail::table_source>;
    return made;
}

namespace detail {

// What a library has, as C is told it.
struct module {
    std::vector<definition> definitions;
    std::vector<const firesteel_function *> functions;
};

inline std::unique_ptr<module> new_module(std::vector<definition> definitions) {
    auto made = std::make_unique<module>(module{std::move(definitions), {}});
    for (definition &each : made->definitions) {
        made->functions.push_back(each.complete());
    }
    return made;
}

} // namespace detail
} // namespace firesteel

// Exports the functions: FIRESTEEL_MODULE("name", "version", firesteel::scalar(…), firesteel::aggregate<…>(…)).
// The functions are made once and never freed.
#define FIRESTEEL_MODULE(name, version, ...)                                                                         \
    FIRESTEEL_EXPORT firesteel_status firesteel_module_v1(const firesteel_host *host, firesteel_module *module,      \
                                                          firesteel_failure *failure) {                              \
        firesteel_status filled = FIRESTEEL_STATUS_OK;                                                               \
        firesteel_status status = firesteel::detail::guarded(failure, [&] {                                          \
            static const firesteel::detail::module *const made =                                                     \
                firesteel::detail::new_module({__VA_ARGS__}).release();                                              \
            filled = firesteel_fill_module(host, module, failure, firesteel_str_of(name), firesteel_str_of(version), \
                                           made->functions.data(), made->functions.size());                          \
        });                                                                                                          \
        return status == FIRESTEEL_STATUS_OK ? filled : status;                                                      \
    }

#endif
