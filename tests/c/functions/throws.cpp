// Functions that throw: none of it may cross the border.
#include "firesteel_functions.hpp"

namespace {

std::int32_t throws(std::int32_t) { throw std::runtime_error("thrown on purpose"); }

std::int32_t throws_number(std::int32_t) { throw 42; }

std::int32_t throws_no_memory(std::int32_t) { throw std::bad_alloc(); }

std::int32_t throws_failure(std::int32_t value) {
    if (value > 10) {
        throw firesteel::failure(std::to_string(value) + " is more than 10", -1, "22023");
    }
    return value;
}

std::int32_t throws_cancelled(const firesteel::task &by, std::int32_t value) {
    while (true) {
        by.check_cancelled();
    }
    return value;
}

// A wrong number of values is caught where it happens.
struct short_of_rows : firesteel::scalar_function {
    firesteel::owned_array execute(const firesteel::task &, const firesteel::batch &) override {
        return firesteel::builder<std::int32_t>().finish();
    }
};

// As are columns of other types than the function reads.
struct reads_strings : firesteel::scalar_function {
    firesteel::owned_array execute(const firesteel::task &, const firesteel::batch &rows) override {
        rows.get<std::string_view>(0);
        return {};
    }
};

struct throws_when_made : firesteel::scalar_function {
    throws_when_made() { throw firesteel::failure("cannot be made"); }
    firesteel::owned_array execute(const firesteel::task &, const firesteel::batch &) override { return {}; }
};

// The second batch of the stream is an exception.
struct stream_throws : firesteel::partition_function {
    firesteel::owned_schema schema() override { return firesteel::columns<std::int32_t>({"value"}).schema(); }
    firesteel::owned_array next(const firesteel::task &, firesteel::input &rows) override {
        if (given_++ > 0) {
            throw std::runtime_error("thrown by a stream");
        }
        return rows.next();
    }
    int given_ = 0;
};

struct aggregate_throws : firesteel::aggregate_function {
    void update(const firesteel::task &, const firesteel::batch &, const firesteel::groups &) override {
        throw std::length_error("thrown by an aggregate");
    }
    void merge(const firesteel::task &, const firesteel::batch &, const firesteel::groups &) override {}
    firesteel::owned_array states(const firesteel::task &, std::uint32_t) override { return {}; }
    firesteel::owned_array finish(const firesteel::task &, std::uint32_t) override { return {}; }
    std::size_t size() const noexcept override { return 0; }
};

} // namespace

FIRESTEEL_MODULE("throws", "1.0",
                 firesteel::scalar("throws", "Test.", throws),
                 firesteel::scalar("throws_number", "Test.", throws_number),
                 firesteel::scalar("throws_no_memory", "Test.", throws_no_memory),
                 firesteel::scalar("throws_failure", "Test.", throws_failure),
                 firesteel::scalar("throws_cancelled", "Test.", throws_cancelled),
                 firesteel::scalar_class<short_of_rows>("short_of_rows", "Test.", {{"int", "int"}}),
                 firesteel::scalar_class<reads_strings>("reads_strings", "Test.", {{"int", "int"}}),
                 firesteel::scalar_class<throws_when_made>("throws_when_made", "Test.", {{"int", "int"}}),
                 firesteel::partition<stream_throws>("stream_throws", "Test.", {"value:int", "value:int"}),
                 firesteel::aggregate<aggregate_throws>("aggregate_throws", "Test.", {{"int", "int"}}, "rows:int"))
